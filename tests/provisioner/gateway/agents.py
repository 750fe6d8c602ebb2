"""An agent's side of the line, at the address the gateway knows: it answers what a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runtimes.catalog import CATALOG
from tests.runtimes.servers import serving

ADDRESS, PORT = "127.0.71.23", CATALOG["hermes"].port
WORD = b'event: assistant.delta\ndata: {"delta": "Good "}\n\n'


@dataclass
class Line:
    """`left` is set when a caller in the middle of a turn is gone."""

    body: bytes  # the answer to all but a turn
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/chat/stream" not in head:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(self.body), self.body))
            await reader.read()
            return
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + WORD)
        await reader.read()  # until the caller goes
        self.left.set()


@asynccontextmanager
async def answering(rows: object = None) -> AsyncIterator[Line]:
    line = Line(json.dumps({} if rows is None else rows).encode())
    async with serving(line.serve, ADDRESS, PORT):
        yield line
