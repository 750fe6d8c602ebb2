"""How the platform talks to a running agent, whichever runtime it is.

    RuntimeProblem
      RuntimeUnreachable    no answer: not up, or gone in the middle of one
      RuntimeRefused        it answered, and the answer was no
        ConversationNotFound

An adapter is stateless and knows no agent: the caller brings an HTTP client and an Endpoint.
"""

import importlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, cast

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


def load_adapter(runtime: Runtime) -> Adapter:
    """The adapter a runtime's manifest names: the module's `adapter`."""
    return cast(Adapter, importlib.import_module(runtime.adapter).adapter)
