"""
Errors a caller of this app can meet:

* Refusal
  - AgentLimitReached     the organisation may have no more agents
  - MemoryLimitReached    ... no more memory
  - DiskLimitReached      ... no more disk
  - AgentNameTaken        it has a live agent of that name
  - AgentChanged          somebody changed it since you read it (412)
  - AgentDeleted          it is being deleted and takes no more wishes
  - AgentNotDeleted       there is nothing to bring back
  - GraceOver             it is too late to bring it back
  - AgentNotRunning       nobody is there to talk to
  * Invalid
    - UnknownRuntime, UnknownKey, UnknownSecret, ImpossibleName, ImpossibleSetting
* Unavailable
  - GatewayUnavailable    the node's gateway is away; the agent most likely goes on
"""

from controlplane.errors import Invalid, Refusal, Unavailable


class AgentLimitReached(Refusal):
    code = "agent_limit_reached"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Your organisation may have {limit} agents and has them. "
            "Delete one, or ask for a higher limit."
        )


class MemoryLimitReached(Refusal):
    code = "memory_limit_reached"

    def __init__(self, limit: int, used: int, asked: int) -> None:
        super().__init__(
            f"This needs {asked} MB; your organisation may use {limit} MB and its agents have "
            f"{used} MB of it. Choose a smaller size, or ask for a higher limit."
        )


class DiskLimitReached(Refusal):
    code = "disk_limit_reached"

    def __init__(self, limit: int, used: int, asked: int) -> None:
        super().__init__(
            f"This needs {asked} GiB; your organisation may use {limit} GiB and its workspaces "
            f"have {used} GiB of it. Choose a smaller workspace, or ask for a higher limit."
        )


class AgentNameTaken(Refusal):
    code = "agent_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"You already have an agent called {name}. Try {name[:60]}-2.")


class AgentChanged(Refusal):
    code = "agent_changed"
    status = 412

    def __init__(self) -> None:
        super().__init__("Somebody changed this agent since you read it. Read it again first.")


class AgentDeleted(Refusal):
    code = "agent_deleted"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is deleted and takes no more changes.")


class AgentNotDeleted(Refusal):
    code = "agent_not_deleted"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not deleted, so there is nothing to bring back.")


class GraceOver(Refusal):
    code = "grace_over"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The grace period of {name} is over, and its workspace is being destroyed."
        )


class AgentNotRunning(Refusal):
    code = "agent_not_running"

    def __init__(self, name: str, status: str) -> None:
        coming = status in {"pending", "starting", "restarting", "waiting", "unknown"}
        todo = "Wait until it runs." if coming else "Start it first."
        super().__init__(f"{name} is {status.replace('_', ' ')}: nobody is there to answer. {todo}")


class UnknownRuntime(Invalid):
    code = "unknown_runtime"

    def __init__(self, slug: str, known: list[str]) -> None:
        super().__init__(
            "runtime", f"There is no runtime {slug!r}. Choose one of: {', '.join(known)}."
        )


class UnknownKey(Invalid):
    code = "unknown_key"

    def __init__(self) -> None:
        super().__init__("key", "Your organisation has no such key. Choose one from its keys.")


class UnknownSecret(Invalid):
    code = "unknown_secret"

    def __init__(self) -> None:
        super().__init__(
            "secrets", "Your organisation has no such secret. Choose from its secrets, by id."
        )


class ImpossibleName(Invalid):
    code = "impossible_name"

    def __init__(self) -> None:
        super().__init__(
            "name",
            "A name has 1 to 63 lower-case letters, digits and hyphens, and starts and ends with "
            "a letter or digit.",
        )


class ImpossibleSetting(Invalid):
    code = "impossible_setting"


class GatewayUnavailable(Unavailable):
    code = "gateway_unavailable"

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message
            or "The gateway cannot be reached. The agent most likely goes on working; "
            "try again in a moment."
        )
