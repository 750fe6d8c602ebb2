"""Lines out of a stream of bytes whose sender may never end one."""

from collections.abc import AsyncGenerator, AsyncIterator

import httpx

# A whole turn comes as one line, with what its tools gave back and the images it made.
LONGEST = 8 * 1024 * 1024  # bytes


async def lines(chunks: AsyncIterator[bytes], longest: int = LONGEST) -> AsyncGenerator[str, None]:
    """Lines ended by LF or CR LF only: httpx's own also break at U+2028, which JSON may hold.

    Raises httpx.ReadError for a line that is longer.
    """
    rest = bytearray()
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first
        if len(rest) > longest:
            raise httpx.ReadError("A line of the answer is longer than we read.")
        for line in others:
            yield _text(rest)
            rest = bytearray(line)
    if rest:
        yield _text(rest)


def _text(line: bytearray) -> str:
    return line.removesuffix(b"\r").decode(errors="replace")
