"""What lives in the agent itself: messages, conversations, logs.

The gateway speaks to the agent; these pass it on, as one JSON answer or as a stream of
server-sent events (`Accept: text/event-stream`).
"""

from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.db import connection
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import gateway, sse
from controlplane.agents.api import serializers as s
from controlplane.agents.api.views import AgentView
from controlplane.agents.errors import GatewayUnavailable
from controlplane.api.idempotency import Claim, claim
from controlplane.api.schema import EVENT_STREAM
from controlplane.database import from_async
from controlplane.errors import Invalid, Refusal, Unavailable

CONVERSATION = OpenApiParameter("conversation", str, description="Default: the main one.")
NEWEST = OpenApiParameter("limit", int, description="The newest so many, 1 to 1000 (the default).")
ENDS = {"completed", "failed"}
CUT_OFF = "The answer was cut off. Look at the conversation before you send it again."
T = TypeVar("T")
Word = dict[str, Any]  # see gateway.stream_message


class EventStreamRenderer(BaseRenderer):
    """Lets `Accept: text/event-stream` through negotiation; problems still come as JSON."""

    media_type = "text/event-stream"
    format = "sse"

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        return JSONRenderer().render(data)


class StreamingAgentView(AgentView):
    renderer_classes = [JSONRenderer, EventStreamRenderer]
    query: tuple[str, ...] = ()
    http_method_names = ["get", "post"]  # a HEAD of what never ends would not end

    def wants_stream(self) -> bool:
        return self.request.accepted_media_type == EventStreamRenderer.media_type

    def let_go(self) -> None:
        """Give the database connection back before something that may take minutes."""
        if not connection.in_atomic_block:
            connection.close()

    def streamed(self, events: AsyncIterator[str]) -> HttpResponseBase:
        self.let_go()
        return sse.stream(events)

    def waited_for(self, answer: Awaitable[T]) -> T:
        """What takes its time, as a whole."""
        self.let_go()

        async def wait() -> T:
            return await answer

        return async_to_sync(wait)()


class Messages(StreamingAgentView):
    needs = {"GET": "agents:read", "POST": "agents:chat"}
    query = ("conversation", "limit")
    serializer_class = s.HistorySerializer

    @extend_schema(operation_id="messages_list", parameters=[CONVERSATION, NEWEST])
    def get(self, request: Request, org: str, agt: str) -> Response:
        """A conversation, oldest message first. It lives in the agent's workspace."""
        conversation = request.query_params.get("conversation") or None
        limit = _number(request.query_params.get("limit", "1000"), "limit", 1, 1000)
        found = self.waited_for(gateway.history(self.access, self.agent(), conversation))
        return Response(found | {"messages": found["messages"][-limit:]})

    @extend_schema(
        operation_id="messages_send",
        request=s.MessageSend,
        responses={
            (200, "application/json"): s.AnswerSerializer,
            (200, "text/event-stream"): EVENT_STREAM,
        },
    )
    def post(self, request: Request, org: str, agt: str) -> HttpResponseBase:
        """Say something; the answer comes whole, or word by word as server-sent events."""
        body = self.read(request, s.MessageSend)
        if not body["text"].strip():
            raise Invalid("text", "There is nothing to say. Write a message.")
        agent = self.agent()
        turn = claim(request, self.access.actor.id)
        if turn.answer is not None:
            words = replayed(turn.answer)
        else:
            text, conversation = body["text"], body.get("conversation")
            words = heard(gateway.stream_message(self.access, agent, text, conversation), turn)
        if self.wants_stream():
            return self.streamed(as_events(words))
        return Response(self.waited_for(whole(words)))


class Conversations(StreamingAgentView):
    needs = {"GET": "agents:read"}
    serializer_class = s.ConversationsSerializer

    @extend_schema(operation_id="conversations_list")
    def get(self, request: Request, org: str, agt: str) -> Response:
        rows = self.waited_for(gateway.conversations(self.access, self.agent()))
        return Response({"conversations": rows})


class Logs(StreamingAgentView):
    needs = {"GET": "agents:read"}
    query = ("tail", "since")
    serializer_class = s.LogSerializer

    @extend_schema(
        operation_id="agents_logs",
        parameters=[
            OpenApiParameter("tail", int, description="Lines from the end, 1 to 5000."),
            OpenApiParameter("since", str, description="Only lines after this `at`."),
        ],
        responses={
            (200, "application/json"): s.LogSerializer,
            (200, "text/event-stream"): EVENT_STREAM,
        },
    )
    def get(self, request: Request, org: str, agt: str) -> HttpResponseBase:
        """The newest lines, or with `Accept: text/event-stream` these and all that follow."""
        tail = _number(request.query_params.get("tail", "500"), "tail", 1, 5000)
        since = request.query_params.get("since", "")[:40]
        follow = self.wants_stream()
        lines = gateway.logs(self.access, self.agent(), follow=follow, since=since, tail=tail)
        if follow:
            return self.streamed(_log_events(lines))
        return Response({"lines": self.waited_for(_collect(lines))})


async def as_events(words: AsyncIterator[Word]) -> AsyncIterator[str]:
    try:
        async for word in words:
            yield sse.event(word["type"], _without_type(word))
    except (Refusal, Unavailable) as error:
        yield sse.event("failed", _without_type(_failed(error)))


def _without_type(word: Word) -> Word:
    return {name: value for name, value in word.items() if name != "type"}


async def whole(words: AsyncIterator[Word]) -> dict[str, str]:
    last: Word = {}
    async for word in words:
        last = word
    if last["type"] == "completed":
        return {"conversation": last["conversation"], "text": last["text"]}
    if last["code"] == GatewayUnavailable.code:
        raise GatewayUnavailable(last["message"])
    # What the caller named does not exist: theirs. Everything else is the agent's.
    status = 404 if last["code"] == "conversation_not_found" else 502
    raise gateway.GatewayRefusal(status, last["code"], last["message"])


async def heard(words: AsyncIterator[Word], turn: Claim) -> AsyncIterator[Word]:
    """The words as they come. The last, completed or failed, is kept for a retry; where the
    agent surely heard nothing, a retry may speak."""
    last = _failed(GatewayUnavailable(CUT_OFF))
    try:
        async for word in words:
            if word["type"] in ENDS:
                last = word
            else:
                yield word
    except (gateway.GatewayRefusal, gateway.NothingSent):
        await from_async(turn.release)()
        raise
    except GatewayUnavailable:
        pass  # the line broke after it was said
    await from_async(turn.keep)(last)
    yield last


async def replayed(answer: Word) -> AsyncIterator[Word]:
    yield answer


def _failed(error: Refusal | Unavailable) -> Word:
    return {"type": "failed", "code": error.code, "message": str(error)}


async def _log_events(lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for line in lines:
            yield sse.event("mark" if "mark" in line else "line", line, line.get("at"))
    except (Refusal, Unavailable) as error:
        yield sse.event("failed", _without_type(_failed(error)))


async def _collect(lines: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line async for line in lines if "at" in line]


def _number(text: str, name: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most):
        raise Invalid(name, f"{name} must be a number from {least} to {most}.")
    return int(text)
