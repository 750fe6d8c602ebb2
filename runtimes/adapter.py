"""How the platform talks to a running agent, whichever runtime it is.

    RuntimeProblem
      RuntimeUnreachable    no answer: not up, or gone in the middle of one
      RuntimeRefused        it answered, and the answer was no
        ConversationNotFound

An adapter is stateless and knows no agent: the caller brings an HTTP client and an Endpoint.
"""

import importlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, cast, runtime_checkable

import httpx

from runtimes.catalog import Runtime


class RuntimeProblem(Exception):
    """Something between the platform and a running agent went wrong."""


class RuntimeUnreachable(RuntimeProblem):
    """The runtime did not answer; trying again later may work."""


class RuntimeRefused(RuntimeProblem):
    """The runtime answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"The agent's runtime answered {status}: {message}")
        self.status = status
        self.message = message


class ConversationNotFound(RuntimeRefused):
    """The runtime knows no conversation of this id."""

    def __init__(self, conversation: str) -> None:
        super().__init__(404, f"There is no conversation {conversation!r}.")
        self.conversation = conversation


@dataclass(frozen=True)
class Endpoint:
    """Where one agent listens; `base_url` has no slash at its end."""

    base_url: str
    token: str = field(repr=False)
    # The agent's own secrets: those its manifest names, and what its set-up came back with.
    own: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Conversation:
    id: str
    title: str
    updated_at: datetime | None
    messages: int | None


@dataclass(frozen=True)
class Message:
    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    at: datetime | None


@dataclass(frozen=True)
class Delta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True)
class ToolUse:
    """The agent began or ended using a tool; `detail` is for people and may be empty."""

    name: str
    state: Literal["started", "completed"]
    detail: str


@dataclass(frozen=True)
class Completed:
    """The turn is over; `text` is the whole answer, `conversation` the id to go on with."""

    conversation: str
    text: str


@dataclass(frozen=True)
class Failed:
    """The turn is over without an answer; `code` is stable, `message` the runtime's own words."""

    code: str
    message: str


ChatEvent = Delta | ToolUse | Completed | Failed


class Adapter(Protocol):
    """The contract of every runtime's adapter; errors are those drawn above.

    `conversation=None` is the agent's main conversation: made on its first use, the same one after
    any restart. Reading never makes it: before its first use its history is empty.

    Agents may answer with anything: what is not the runtime's way to speak is RuntimeRefused, and
    texts can always be encoded.
    """

    async def conversations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> Sequence[Conversation]:
        """The agent's conversations, the one used last first."""
        ...

    async def main(self, client: httpx.AsyncClient, endpoint: Endpoint) -> str | None:
        """The main conversation's id, as Completed has it; None where its first use makes it up."""
        ...

    async def history(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str | None = None
    ) -> Sequence[Message]:
        """What was said in a conversation, oldest first."""
        ...

    def stream(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        text: str,
        conversation: str | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Say `text` and yield what comes back, as it comes.

        Ends with exactly one Completed or Failed, or raises: RuntimeUnreachable also where the
        runtime dies in the middle of its answer. Closing it closes the line to the runtime.
        """
        ...


@dataclass(frozen=True)
class Investigation:
    """A finished look into one alert; `report` is Markdown and empty in lists."""

    id: str
    title: str
    at: datetime | None
    root_cause: str = ""
    report: str = ""


@runtime_checkable
class Investigator(Protocol):
    """What an adapter has besides where its manifest's capabilities name `investigate`."""

    def investigate(
        self, client: httpx.AsyncClient, endpoint: Endpoint, alert: Mapping[str, Any]
    ) -> AsyncGenerator[ChatEvent, None]:
        """Look into an alert and yield what happens; Completed holds the report as its text and
        the investigation's id as its conversation."""
        ...

    async def investigations(
        self, client: httpx.AsyncClient, endpoint: Endpoint
    ) -> Sequence[Investigation]:
        """Those finished, the newest first."""
        ...

    async def investigation(
        self, client: httpx.AsyncClient, endpoint: Endpoint, investigation: str
    ) -> Investigation:
        """One with its report; ConversationNotFound where there is none of this id."""
        ...


CHECK = "roost-check"  # the platform's own conversation, or the end of its id


@runtime_checkable
class Checker(Protocol):
    """What an adapter has besides where the platform can have a conversation of its own."""

    def check(
        self, client: httpx.AsyncClient, endpoint: Endpoint, text: str
    ) -> AsyncGenerator[ChatEvent, None]:
        """As `stream`, in a conversation that is made at its first use and is nobody's else."""
        ...


class Setup(Protocol):
    """A runtime's headless first run: the function `set_up` of the module its manifest names."""

    async def set_up(
        self,
        client: httpx.AsyncClient,
        endpoint: Endpoint,
        title: str,
        settings: Mapping[str, Any],
    ) -> Mapping[str, str]:
        """Make of a healthy runtime one that can be talked to: `title` is for people, `settings`
        are what the boot hook got.

        Called once for every new container, so it also brings a used one up to new settings; safe
        to repeat after any half of it. What it returns is secret: it is kept in the vault and is
        in `endpoint.own` from then on, `token` in the place of `endpoint.token`. Raises
        RuntimeProblem.
        """
        ...


def load_setup(runtime: Runtime) -> Setup | None:
    """The set-up a runtime's manifest names, or None where its first boot is enough."""
    return cast(Setup, importlib.import_module(runtime.setup)) if runtime.setup else None


def load_adapter(runtime: Runtime) -> Adapter:
    """The adapter a runtime's manifest names: the module's `adapter`."""
    return cast(Adapter, importlib.import_module(runtime.adapter).adapter)
