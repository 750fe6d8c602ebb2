"""What lives in the agent itself: messages, conversations, logs; and the live timeline.

The gateway speaks to the agent; these pass it on, as one JSON answer or as a stream of
server-sent events (`Accept: text/event-stream`).
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import gateway, sse
from controlplane.agents.api import serializers as s
from controlplane.agents.api.views import AgentView
from controlplane.agents.errors import GatewayUnavailable
from controlplane.agents.feed import feed
from controlplane.agents.models import Agent, Event
from controlplane.api.schema import EVENT_STREAM
from controlplane.errors import Invalid, Refusal, Unavailable

CONVERSATION = OpenApiParameter("conversation", str, description="Default: the main one.")
KEEP_ALIVE = 15  # seconds between comments on a silent stream; proxies cut silence


class EventStreamRenderer(BaseRenderer):
    """Lets `Accept: text/event-stream` through negotiation; problems still come as JSON."""

    media_type = "text/event-stream"
    format = "sse"

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        return JSONRenderer().render(data)


class StreamingAgentView(AgentView):
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    def wants_stream(self) -> bool:
        return self.request.accepted_media_type == EventStreamRenderer.media_type


class Messages(StreamingAgentView):
    needs = {"GET": "agents:read", "POST": "agents:chat"}
    serializer_class = s.HistorySerializer

    @extend_schema(operation_id="messages_list", parameters=[CONVERSATION])
    def get(self, request: Request, org: str, agt: str) -> Response:
        """A conversation, oldest message first. It lives in the agent's workspace."""
        conversation = request.query_params.get("conversation") or None
        return Response(async_to_sync(gateway.history)(self.access, self.agent(), conversation))

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
        words = gateway.stream_message(self.access, agent, body["text"], body.get("conversation"))
        if self.wants_stream():
            return sse.stream(_as_events(words))
        # Not inside a transaction: an answer may take minutes. A key makes a retry refuse to
        # say the same thing twice only while its first answer is kept by the agent itself.
        return Response(async_to_sync(_whole)(words))


class Conversations(StreamingAgentView):
    needs = {"GET": "agents:read"}
    serializer_class = s.ConversationsSerializer

    @extend_schema(operation_id="conversations_list")
    def get(self, request: Request, org: str, agt: str) -> Response:
        rows = async_to_sync(gateway.conversations)(self.access, self.agent())
        return Response({"conversations": rows})


class Logs(StreamingAgentView):
    needs = {"GET": "agents:read"}
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
            return sse.stream(_log_events(lines))
        return Response({"lines": async_to_sync(_collect)(lines)})


class EventStream(StreamingAgentView):
    needs = {"GET": "agents:read"}
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(operation_id="agents_events_stream", responses={200: EVENT_STREAM})
    def get(self, request: Request, org: str, agt: str) -> HttpResponseBase:
        """New lines of the timeline as they happen; `Last-Event-ID` resumes without a gap."""
        last = request.headers.get("Last-Event-ID", "")
        return sse.stream(_timeline(self.agent(), int(last) if last.isdecimal() else None))


async def _as_events(words: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for word in words:
            yield sse.event(word.pop("type"), word)
    except (Refusal, Unavailable) as error:
        yield sse.event("failed", {"code": error.code, "message": str(error)})


async def _whole(words: AsyncIterator[dict[str, Any]]) -> dict[str, str]:
    async for word in words:
        if word["type"] == "completed":
            return {"conversation": word["conversation"], "text": word["text"]}
        if word["type"] == "failed":
            raise gateway.GatewayRefusal(502, word["code"], word["message"])
    raise GatewayUnavailable("The answer was cut off. Look at the conversation, then send again.")


async def _log_events(lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    try:
        async for line in lines:
            yield sse.event("mark" if "mark" in line else "line", line, line.get("at"))
    except (Refusal, Unavailable) as error:
        yield sse.event("failed", {"code": error.code, "message": str(error)})


async def _collect(lines: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line async for line in lines if "at" in line]


async def _timeline(agent: Agent, last: int | None) -> AsyncIterator[str]:
    async with feed.listen(agent.pk) as news:
        if last is None:
            last = await sync_to_async(_newest)(agent)
        yield ": listening\n\n"
        while True:
            for row in await sync_to_async(_after)(agent, last):
                last = row.pk
                yield sse.event(row.kind, s.EventSerializer(row).data, row.pk)
            try:
                await asyncio.wait_for(news.get(), KEEP_ALIVE)
            except TimeoutError:
                yield ": still here\n\n"


def _newest(agent: Agent) -> int:
    return agent.events.order_by("-id").values_list("id", flat=True).first() or 0


def _after(agent: Agent, event_id: int) -> list[Event]:
    return list(agent.events.filter(id__gt=event_id).order_by("id")[:500])


def _number(text: str, name: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most):
        raise Invalid(name, f"{name} must be a number from {least} to {most}.")
    return int(text)
