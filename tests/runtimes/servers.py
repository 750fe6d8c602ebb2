"""Servers of raw bytes, among them one that sends a byte now and then and is never done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """Its port, for the block; afterwards no visit goes on."""
    visits = set[asyncio.Task[None]]()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.add(asyncio.create_task(visit(reader, writer)))

    server = await asyncio.start_server(begin, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in visits:
            one.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)
