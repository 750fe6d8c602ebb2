"""What every engine (Docker, the shipped fake, later Kubernetes) must be able to do.

Each verb is an `ensure_…`: twice equals once, absent counts as stopped and as removed. Two
kinds of errors come out, whatever library is inside:

* EngineUnavailable   it did not answer: not knowing is not absence; try again later
* EngineRefused       it answered no: trying the same again will not help
  - ImageMissing      the image is not on this node
  - IsolationMissing  the node does not offer the isolation that was asked for
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

State = Literal["created", "running", "restarting", "paused", "exited", "dead"]
Isolation = Literal["default", "gvisor"]
DOWN = "-"  # in the place of a start, in Container.life


class EngineUnavailable(Exception):
    """The engine did not answer; nothing is known of what it runs."""


class EngineRefused(Exception):
    """The engine answered no."""


class ImageMissing(EngineRefused):
    """The image is not on this node."""

    def __init__(self, image: str) -> None:
        super().__init__(f"The image {image} is not on this node.")
        self.image = image


class AddressTaken(EngineRefused):
    """Something else on the network has the container's address: a stranger's container, or what an
    engine that crashed still remembers."""


class IsolationMissing(EngineRefused):
    """The node does not offer it."""

    def __init__(self) -> None:
        super().__init__(
            "This node has no gVisor (runsc). Choose the default isolation in its settings, or "
            "ask your operator to install it."
        )


@dataclass(frozen=True)
class Bind:
    """A directory of the node shown inside; it must exist, or nothing starts."""

    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class NetworkSpec:
    name: str
    bridge: str
    subnet: str
    gateway: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class ContainerSpec:
    """The closed schema: all that an agent's container can differ in. See spec.py for who fills it.

    Environment holds ids and settings, never a secret. Memory in MiB, CPU in thousandths.
    """

    name: str
    image: str
    labels: Mapping[str, str]
    environment: Mapping[str, str]
    binds: tuple[Bind, ...]
    network: str
    address: str | None
    dns: tuple[str, ...]
    memory_mb: int
    cpu_millis: int
    pids: int
    tmp_mb: int
    isolation: Isolation = "default"


@dataclass(frozen=True)
class Container:
    """What was seen of one. Times are the engine's own text, compared and never computed with."""

    id: str
    name: str
    agent_id: str
    release: int
    restart: int  # which of the restarts people asked for it was made for
    state: State
    exit_code: int = 0
    out_of_memory: bool = False
    started_at: str = ""
    restart_count: int = 0
    address: str | None = None
    connected: bool = True  # false: it runs, but somebody took its network away
    organisation_id: str = ""  # of its label
    image: str = ""
    memory_mb: int = 0  # 0 in a list, which does not say
    settings: str = ""  # JSON, what its runtime was told; "" in a list
    fixed_address: str | None = None  # the one it was made with, which it has whenever it is up

    @property
    def up(self) -> bool:
        return self.state in {"running", "paused"}

    @property
    def ends(self) -> int:
        """How often it has ended since somebody last started it by hand."""
        return self.restart_count + (1 if self.state in {"exited", "dead"} else 0)

    @property
    def life(self) -> str:
        """Changes with every start and every end. While it is down it names no start, so that the
        next start is not taken for another end."""
        return f"{self.id[:12]} {self.started_at if self.up else DOWN} {self.ends}"


@dataclass(frozen=True)
class EngineEvent:
    """`at` is in whole seconds since 1970; resume with it (the last second comes again)."""

    agent_id: str
    action: str  # start, die, oom, kill, destroy, ...
    at: int


@dataclass(frozen=True)
class LogLine:
    at: str  # RFC 3339 with nanoseconds
    text: str


@dataclass(frozen=True)
class Apart:
    """A short program in a container of an agent's profile: its uid, no rights, no network, no
    keys. Memory in MiB, CPU in thousandths."""

    name: str
    image: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    binds: tuple[Bind, ...]
    memory_mb: int
    cpu_millis: int
    pids: int
    tmp_mb: int
    isolation: Isolation = "default"


@dataclass(frozen=True)
class Footprint:
    """Where an engine keeps what belongs to a container and its image. Paths are of the node, and
    may not be readable; empty where there is nothing of the kind."""

    metadata: tuple[str, ...] = ()  # what it wrote down about the container
    logs: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()  # the container's own layer
    image: tuple[str, ...] = ()  # the layers below it
    shared: tuple[str, ...] = ()  # what it wrote down about others as well
    told: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # answers of its API
    why_not: str = ""  # why there are no paths


@dataclass(frozen=True)
class Build:
    """An image to build from a tar of its context."""

    reference: str
    context_tar: bytes = field(repr=False)
    args: Mapping[str, str] = field(repr=False)
    labels: Mapping[str, str]
    network: bool


class Engine(Protocol):
    def ping(self) -> str:
        """Its version. Raises EngineUnavailable."""

    def isolations(self) -> tuple[Isolation, ...]:
        """What it offers to run a container in."""

    def inspect(self, name: str) -> Container | None: ...

    def containers(self, labels: Mapping[str, str]) -> list[Container]:
        """All that carry these labels, in any state, with what a list shows (no restart count)."""

    def ensure_network(self, spec: NetworkSpec) -> None:
        """One of that name with another subnet or bridge is made anew, or, with containers on it,
        refused: guard and fixed addresses rest on both."""

    def ensure_network_removed(self, name: str) -> None: ...
    def networks(self, labels: Mapping[str, str]) -> list[str]: ...

    def ensure_created(self, spec: ContainerSpec) -> None:
        """Raises ImageMissing, IsolationMissing. A container of that name is left as it is."""

    def ensure_started(self, name: str) -> None:
        """From created, exited or paused; it is then kept up by the engine itself. One that went
        away meanwhile is no error: the next look sees it. Raises AddressTaken."""

    def nudge(self, name: str) -> None:
        """Start at once what waits in the engine's back-off; gone meanwhile is no error."""

    def kill_main(self, name: str) -> None:
        """Its main process ends as by `kill -9`, and the engine starts it again by itself. One that
        does not run is left as it is. Raises EngineRefused where this node may not."""

    def ensure_stopped(self, name: str, grace: int) -> None:
        """For good: the engine does not start it again. `grace` in seconds, then it is killed."""

    def ensure_removed(self, name: str) -> None: ...

    def has_image(self, reference: str) -> bool: ...
    def import_image(self, reference: str, tarball: str, labels: Mapping[str, str]) -> None: ...
    def build_image(self, build: Build, say: Callable[[str], None]) -> None: ...

    def run_helper(self, image: str, argv: list[str], binds: tuple[Bind, ...]) -> None:
        """One short program as root in a container without network; raises EngineRefused."""

    def run_apart(self, apart: Apart, patience: int) -> tuple[int, str]:
        """Its exit code and what it said, both streams together. One of that name that is there
        still goes first: who started it was killed. One that takes longer than so many seconds is
        ended and raises EngineRefused, as does one whose image is missing."""

    def footprint(self, name: str, image: str) -> Footprint:
        """What a scan looks at; either of the two may not be there."""

    def log_tail(self, name: str, lines: int) -> list[LogLine]: ...

    def log_follow(self, name: str, since: str) -> Iterator[LogLine]:
        """Lines after `since` (RFC 3339 or ""); ends without an error when the container does."""

    def events(self, labels: Mapping[str, str], since: int) -> Iterator[EngineEvent]:
        """Ends without an error when the engine goes: an end is a disconnect."""
