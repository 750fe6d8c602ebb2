"""The live timeline: an agent's events as server-sent events, while the caller may see them."""

import asyncio
from collections.abc import AsyncIterator

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from controlplane.agents import sse
from controlplane.agents.api import serializers as s
from controlplane.agents.api.streams import EventStreamRenderer, StreamingAgentView
from controlplane.agents.feed import OVERLAP, feed
from controlplane.agents.models import Agent, Event
from controlplane.api.schema import EVENT_STREAM, last_event_id
from controlplane.database import from_async
from controlplane.errors import Invalid
from controlplane.tenants.access import Access

RECHECK = 5.0  # seconds until a revoked right is noticed, and between comments in a silence
READ = "agents:read"


class EventStream(StreamingAgentView):
    needs = {"GET": READ}
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(
        operation_id="agents_events_stream",
        parameters=[last_event_id()],
        responses={200: EVENT_STREAM},
    )
    def get(self, request: Request, org: str, agt: str) -> HttpResponseBase:
        """New lines of the timeline as they happen; `Last-Event-ID` resumes without a gap.

        Ends when the agent is deleted, or within seconds when the caller may not read it any
        more.
        """
        last = _event_id(request.headers.get("Last-Event-ID"))
        return self.streamed(timeline(self.access, self.agent(), last))


async def timeline(
    access: Access, agent: Agent, last: int | None, recheck: float = RECHECK
) -> AsyncIterator[str]:
    """Events after `last`, a number of an event; None is the newest there is."""
    async with feed.listen(agent.pk) as news:
        if last is None:
            last = await from_async(_newest)(agent)
        seen = await from_async(_just_before)(agent, last)
        yield ": listening\n\n"
        while await from_async(_may_listen)(access, agent):
            for row in await from_async(_unseen)(agent, last, seen):
                last = max(last, row.pk)
                seen = {number for number in seen if number > last - OVERLAP} | {row.pk}
                yield sse.event(row.kind, s.EventSerializer(row).data, row.pk)
            try:
                await asyncio.wait_for(news.get(), recheck)
            except TimeoutError:
                yield ": still here\n\n"


def _event_id(text: str | None) -> int | None:
    """Browsers send what they last saw; an empty text is nothing yet."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid("Last-Event-ID", "Last-Event-ID is the number of the last event you got.")
    return int(text)


def _may_listen(access: Access, agent: Agent) -> bool:
    mine = Agent.objects.of(access.organisation).filter(pk=agent.pk)
    return access.still_may(READ) and mine.exists()


def _newest(agent: Agent) -> int:
    return agent.events.order_by("-id").values_list("id", flat=True).first() or 0


def _just_before(agent: Agent, last: int) -> set[int]:
    rows = agent.events.filter(id__gt=last - OVERLAP, id__lte=last)
    return set(rows.values_list("id", flat=True))


def _unseen(agent: Agent, last: int, seen: set[int]) -> list[Event]:
    """Numbers are given before transactions end: a smaller one may appear after a larger one."""
    rows = agent.events.filter(id__gt=last - OVERLAP).exclude(id__in=seen)
    return list(rows.order_by("id")[:500])
