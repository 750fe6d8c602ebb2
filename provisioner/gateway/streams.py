"""Answers that come line by line, and let go of all they hold however they end."""

from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Lines(StreamingResponse):
    """Ends `lines`, then calls `on_end`, also where the reader left before the first line: left
    to itself, a generator that nobody reads keeps its connections until it is collected."""

    def __init__(
        self, lines: AsyncGenerator[str, None], on_end: Callable[[], None] | None = None
    ) -> None:
        super().__init__(lines, media_type="application/x-ndjson")
        self._lines, self._on_end = lines, on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as held:
            if self._on_end:
                held.callback(self._on_end)
            async with aclosing(self._lines):
                await super().__call__(scope, receive, send)
