"""Turns that are under way, told to the node: a drill must not break one off.

A row says so until a moment that is put off again and again; a gateway that dies lets it run out.
So does a caller who leaves in the middle: the runtime may go on with the turn for a while.
"""

import asyncio
import contextlib
from datetime import timedelta
from types import TracebackType

from django.utils.timezone import now

from controlplane.database import from_async
from provisioner.models import Turn

TTL = timedelta(seconds=30)


class under_way:  # noqa: N801  reads as a block
    """An async block in which an agent is, or with `web` may be, in a turn."""

    def __init__(self, agent_id: str, *, web: bool = False) -> None:
        self._agent_id, self._web = agent_id, web

    async def __aenter__(self) -> None:
        self._row = await from_async(_begin)(self._agent_id, self._web)
        self._renewing = asyncio.create_task(self._renew())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._renewing.cancel()
        if kind is None or issubclass(kind, Exception):
            await from_async(_end)(self._row)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(TTL.total_seconds() / 3)
            with contextlib.suppress(Exception):  # the database is away; the next may reach it
                await from_async(_put_off)(self._row)


def _begin(agent_id: str, web: bool) -> int:
    Turn.objects.filter(agent_id=agent_id, until__lt=now()).delete()
    return Turn.objects.create(agent_id=agent_id, web=web, until=now() + TTL).pk


def _put_off(row: int) -> None:
    Turn.objects.filter(pk=row).update(until=now() + TTL)


def _end(row: int) -> None:
    Turn.objects.filter(pk=row).delete()
