"""Reading Docker's log stream: exact times, whole lines, and an end where nothing is said.

Found by trying (20.10): a line of more than 16 KiB comes in pieces that carry the same time, the
`local` driver leaves the newline of the last one out, and last words may have none at all.
"""

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from urllib3.exceptions import ReadTimeoutError

from provisioner.engines.base import LogLine

HEADER = struct.Struct(">BxxxL")  # stream, length
MOST = 64 * 1024  # bytes of a line; the rest is left out
Piece = tuple[int, bytes]


def pieces(response: Any) -> Iterator[Piece]:
    """(stream, data) until the container ends or nothing was said for the request's time-out."""
    raw = response.raw
    try:
        while len(header := raw.read(HEADER.size)) == HEADER.size:
            stream, length = HEADER.unpack(header)
            yield stream, raw.read(length)
    except ReadTimeoutError:
        return
    finally:
        response.close()


def whole_lines(found: Iterator[Piece]) -> Iterator[LogLine]:
    """Pieces put together. A line is whole at its newline, or when the next has its own time."""
    held: dict[int, tuple[bytes, bytes]] = {}
    for stream, data in found:
        at, _, text = data.partition(b" ")
        before = held.pop(stream, None)
        if before is not None and before[0] == at:
            text = before[1] + text
        elif before is not None:
            yield _line(*before)
        if text.endswith(b"\n"):
            yield _line(at, text[:-1])
        else:
            held[stream] = at, text[:MOST]
    for left in held.values():
        yield _line(*left)


def engine_time(text: str) -> str:
    """RFC 3339 with nanoseconds to the engine's `seconds.nanoseconds`. Raises ValueError."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    if match is None:
        raise ValueError(f"{text!r} is not a time of ours.")
    seconds = int(datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp())
    return f"{seconds}.{(match[2] or '').ljust(9, '0')}"


def _line(at: bytes, text: bytes) -> LogLine:
    return LogLine(at.decode(errors="replace"), text[:MOST].decode(errors="replace"))
