"""What a browser sends up: small bodies are held, to be sent twice if need be; large ones flow."""

import asyncio
from collections.abc import AsyncGenerator

from starlette.datastructures import Headers
from starlette.types import Receive

from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.web.refusals import WebRefusal

MOST = 256 * 1024 * 1024  # bytes
SMALL = 1024 * 1024  # bytes


class Body:
    """`gone` returns when the browser has left, which shows once all of the body was read."""

    def __init__(self, headers: Headers, receive: Receive) -> None:
        """Raises GatewayProblem 413."""
        self._receive, self._read, self._all = receive, 0, asyncio.Event()
        length = headers.get("content-length", "0")
        self._length = int(length) if length.isascii() and length.isdigit() else 0
        self.small = "transfer-encoding" not in headers and self._length <= SMALL
        if self._length > MOST:
            raise _too_large()

    async def whole(self) -> bytes:
        """Of a small one."""
        return b"".join([chunk async for chunk in self.flow()])

    async def flow(self) -> AsyncGenerator[bytes, None]:
        """Raises GatewayProblem 413; ends early where the browser left."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise BrowserLeft
            more = message.get("more_body", False)
            chunk: bytes = message.get("body", b"")
            self._read += len(chunk)
            if self._read > MOST:
                raise _too_large()
            if chunk:
                yield chunk
        self._all.set()

    async def gone(self) -> None:
        await self._all.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


class BrowserLeft(Exception):
    """Nobody waits for the answer."""


def _too_large() -> GatewayProblem:
    return WebRefusal(
        413,
        "too_large",
        "That is too large",
        f"At most {MOST // 1024**2} MiB can be sent to an agent's web UI at once.",
    )
