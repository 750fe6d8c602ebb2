"""OpenSRE takes seconds to import. What was said can be read and added to meanwhile."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, NoReturn

from runtimes.opensre.host.engine import Answer, Engine, Finding, Said
from runtimes.opensre.host.events import Delta, ToolUse

log = logging.getLogger(__name__)


def give_up() -> NoReturn:
    """A host without OpenSRE is none: end, so that it is started again and seen to fail."""
    os._exit(1)


class Loading:
    """An engine from the first moment; its turns begin when `load` has brought the real one."""

    def __init__(self, load: Callable[[], Engine], give_up: Callable[[], Any] = give_up) -> None:
        self._load = load
        self._give_up = give_up
        self._loaded: asyncio.Task[Engine] | None = None

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[None]:
        self._loaded = asyncio.create_task(asyncio.to_thread(self._load))
        self._loaded.add_done_callback(self._told)
        yield

    def _told(self, loaded: asyncio.Task[Engine]) -> None:
        if not loaded.cancelled() and (error := loaded.exception()):
            log.critical("OpenSRE cannot be loaded", exc_info=error)
            self._give_up()

    async def _engine(self) -> Engine:
        assert self._loaded is not None  # noqa: S101  no request comes before the lifespan
        return await asyncio.shield(self._loaded)

    async def chat(self, said: Sequence[Said]) -> AsyncGenerator[Delta | ToolUse | Answer, None]:
        engine = await self._engine()
        async with aclosing(engine.chat(said)) as events:
            async for event in events:
                yield event

    async def investigate(
        self, title: str, alert: Mapping[str, Any]
    ) -> AsyncGenerator[ToolUse | Finding, None]:
        engine = await self._engine()
        async with aclosing(engine.investigate(title, alert)) as events:
            async for event in events:
                yield event
