"""
Errors a caller of this app can meet:

* Refusal
  - NothingToSnapshot     the agent has no workspace yet
  - SnapshotNotUsable     it is still being made, or its making failed
  - RestoreUnderWay       another restore of this agent is not done yet
  - TooManySnapshots      by hand, in one organisation's agent
  - DatabaseInUse         a part of a database that a running agent has open
"""

from controlplane.errors import Refusal


class NothingToSnapshot(Refusal):
    code = "nothing_to_snapshot"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} has no workspace yet, so there is nothing to take a snapshot of. "
            "Wait until it has started once."
        )


class SnapshotNotUsable(Refusal):
    code = "snapshot_not_usable"

    def __init__(self, message: str) -> None:
        why = message or "It is still being made."
        super().__init__(f"This snapshot cannot be used. {why} Choose another one.")


class RestoreUnderWay(Refusal):
    code = "restore_under_way"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is being put back to a snapshot already. Wait until that is done, "
            "then ask again."
        )


class TooManySnapshots(Refusal):
    code = "too_many_snapshots"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"This agent has {most} snapshots, the most that are kept. Delete one that you do not "
            "need, then take the next."
        )


class DatabaseInUse(Refusal):
    code = "database_in_use"

    def __init__(self, name: str, database: str) -> None:
        shown = database if len(database) <= 120 else f"…{database[-120:]}"
        super().__init__(
            f"{shown} is a database, and {name} runs: put back alone under a program that has it "
            "open, it would be half old and half new. Stop the agent first, then ask again; or "
            "restore all of the workspace."
        )
