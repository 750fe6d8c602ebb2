"""Lines from senders who may never end one."""

from collections.abc import AsyncIterator
from itertools import repeat

import httpx
import pytest

from runtimes.lines import LONGEST, lines
from runtimes.sse import server_events

pytestmark = pytest.mark.anyio


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def endless(part: bytes) -> AsyncIterator[bytes]:
    for again in repeat(part):
        yield again


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((b"a\nb\n",), ["a", "b"]),
        ((b"a", b"b\n", b"\n", b"c"), ["ab", "", "c"]),
        ((b"a\r", b"\nb\rc\n"), ["a", "b\rc"]),
        (("ö".encode()[:1], "ö\u2028ü\n".encode()[1:]), ["ö\u2028ü"]),
        ((b"\xff\n",), ["\ufffd"]),
        ((), []),
    ],
)
async def test_lines_end_at_a_line_feed_wherever_the_pieces_end(
    parts: tuple[bytes, ...], found: list[str]
) -> None:
    assert [line async for line in lines(chunks(*parts))] == found


async def test_an_endless_line_is_given_up_soon() -> None:
    """In many small pieces: were each put to the line so far, this would take minutes."""
    with pytest.raises(httpx.ReadError, match="longer than we read"):
        await anext(lines(endless(b"x" * 64)))


async def test_a_long_line_is_read() -> None:
    image = b"x" * (LONGEST - 1000)
    assert [len(line) async for line in lines(chunks(image, b"\n"))] == [len(image)]


async def test_an_endless_event_of_short_lines_is_given_up_too() -> None:
    response = httpx.Response(200, content=endless(b"data: x\n" * 64))
    with pytest.raises(httpx.ReadError, match="longer than we read"):
        await anext(server_events(response, longest=100_000))
