"""An archive's bytes as they come: decompressed by its first bytes, counted, and never more at once
than memory has room for, however well they were compressed."""

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import zstandard

PIECE = 4096  # of compressed bytes: the worst of them become 128 MiB
WINDOW = 128 * 1024**2  # bytes that zstandard may look back
HEAD = 512


class Bad(Exception):
    """The archive is not taken in; `reason` is for machines, the text for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Unpacked:
    """Raises Bad where it was cut off, is damaged, or becomes more than `most` bytes."""

    def __init__(self, source: Source, most: int) -> None:
        self._source, self._most = source, most
        head = source.read(HEAD)
        self._make = _decompressor(head)
        self._engine: Any = self._make() if self._make else None
        self._raw, self._ended = head, False
        # A view, because much may come of one piece, and is taken from it bit by bit.
        self._out = memoryview(b"")
        self.bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        """Exactly `size` bytes, but for the end."""
        parts: list[memoryview] = []
        wanted = size
        while wanted > 0:
            if not self._out and not self._fill():
                break
            part, self._out = self._out[:wanted], self._out[wanted:]
            parts.append(part)
            wanted -= len(part)
        found = b"".join(parts)
        self.bytes += len(found)
        if self.bytes > self._most:
            raise Bad(
                "archive_too_large",
                f"It unpacks to more than the {self._most / 1024**3:.1f} GiB that the agent's disk "
                "has. Begin an agent with a larger one.",
            )
        return found

    def _fill(self) -> bool:
        """Whether there is more."""
        while not self._out:
            raw, self._raw = self._raw or self._source.read(PIECE), b""
            if not raw:
                if self._engine is not None and not self._ended:
                    raise cut_off()
                return False
            self._out = memoryview(self._decompressed(raw))
        return True

    def _decompressed(self, raw: bytes) -> bytes:
        if self._engine is None:
            return raw
        if self._ended:
            assert self._make is not None  # noqa: S101  there is an engine
            self._engine, self._ended = self._make(), False  # another frame after the first
        try:
            out: bytes = self._engine.decompress(raw)
        except (zlib.error, zstandard.ZstdError) as error:
            raise Bad("archive_damaged", f"It cannot be decompressed: {error}.") from error
        self._ended = bool(self._engine.eof)
        if self._ended:
            self._raw = self._engine.unused_data
        return out


def cut_off() -> Bad:
    return Bad("archive_cut_off", "It was cut off: its end is missing. Upload all of it.")


def _decompressor(head: bytes) -> Callable[[], Any] | None:
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj
    if head.startswith(b"\x1f\x8b"):
        return lambda: zlib.decompressobj(31)
    if head[257:262] == b"ustar":
        return None
    raise Bad("not_an_archive", "It is no tar.zst, tar.gz or tar. Upload one of these.")
