"""Looking inside what is packed: gzip, zlib (git's objects and packs), bzip2, xz and zip.

Bounded twice over, by file and by scan, since a few bytes can unpack to any number. What is
left out is told by the place.
"""

import bz2
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from provisioner.scan.needles import Stream
from provisioner.scan.place import Place
from provisioner.scan.reading import PIECE

MOST_OF_A_FILE = 256 * 1024 * 1024  # unpacked bytes
MOST_OF_ALL = 4 * 1024**3
HEAD = 16
LONGEST_LIST = 16 * 1024 * 1024  # bytes of a zip's list of members
XZ_MEMORY = 256 * 1024 * 1024
PLAIN_ZIP = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
ZLIB = tuple(bytes([0x78, level]) for level in (0x01, 0x5E, 0x9C, 0xDA))
KINDS: list[tuple[str, tuple[bytes, ...]]] = [
    ("gzip", (b"\x1f\x8b\x08",)),
    ("zip", (b"PK\x03\x04",)),
    ("bzip2", (b"BZh",)),
    ("xz", (b"\xfd7zXZ\x00",)),
    ("zstd", (b"\x28\xb5\x2f\xfd",)),
    ("a git pack", (b"PACK\x00\x00\x00\x02",)),
    ("zlib", ZLIB),
]
IN_PART = "packed files looked into in part, since they unpack to too much"
NOT_INSIDE = "packed files not looked into, since zstd is not unpacked"
BROKEN = "packed files looked into up to where they are broken"
LOCKED = "packed files not looked into, since a password locks them"


class TooMuch(Exception):
    """The bound is reached."""


class Budget:
    """Unpacked bytes that are left for the whole scan."""

    def __init__(self, left: int = MOST_OF_ALL) -> None:
        self.left = left


def kind_of(head: bytes) -> str:
    return next((kind for kind, marks in KINDS if head.startswith(marks)), "")


def look_inside(place: Place, budget: Budget, path: str, handle: int, size: int) -> None:
    """Nothing happens where the file is not packed. Raises OSError where the disk fails."""
    kind = kind_of(os.pread(handle, HEAD, 0))
    if not kind:
        return
    if kind == "zstd":
        place.skip(NOT_INSIDE)
        return
    inside = _Inside(place, budget, path, kind)
    try:
        if kind == "zip":
            inside.zipped(handle)
        elif kind == "a git pack":
            inside.pack(handle, size)
        else:
            inside.stream(handle, size, kind)
    except TooMuch:
        place.skip(IN_PART)
    except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, ValueError):
        if kind != "zlib":  # two bytes are no proof that it was meant to be zlib
            place.skip(BROKEN)
    except (EOFError, OSError):
        place.skip(BROKEN)
    except RuntimeError:
        place.skip(LOCKED)


class _Inside:
    def __init__(self, place: Place, budget: Budget, path: str, kind: str) -> None:
        self.place, self.budget, self.path, self.kind = place, budget, path, kind
        self.left = MOST_OF_A_FILE

    def stream(self, handle: int, size: int, kind: str) -> None:
        """One after another: gzip and its like may be several, set end to end."""
        at = 0
        while at < size:
            used = self._one(handle, at, MAKERS[kind]())
            if kind == "zlib":
                return
            if not used:
                raise EOFError
            at += used

    def pack(self, handle: int, size: int) -> None:
        """A git pack: each object has a head of a few bytes, then zlib."""
        at = 12
        while at < size - 20:
            at += _pack_head(os.pread(handle, 64, at))
            used = self._one(handle, at, zlib.decompressobj())
            if not used:
                raise EOFError
            at += used

    def zipped(self, handle: int) -> None:
        if _too_many_members(handle):
            raise TooMuch
        with os.fdopen(os.dup(handle), "rb") as file, zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if member.compress_type not in PLAIN_ZIP:
                    self.place.skip(IN_PART)
                    continue
                with archive.open(member) as opened:
                    self._through(iter(lambda: opened.read(PIECE), b""), f"zip, {member.filename}")

    def _one(self, handle: int, at: int, unpacker: Any) -> int:
        """One packed stream that begins at `at`; how many packed bytes it took, 0 where it is cut
        off."""
        begun, ended = at, False

        def pieces() -> Iterator[bytes]:
            nonlocal at, ended
            while data := os.pread(handle, PIECE, at):
                at += len(data)
                full = True
                while data or full:
                    out = unpacker.decompress(data, PIECE)
                    data, full = getattr(unpacker, "unconsumed_tail", b""), len(out) == PIECE
                    yield out
                    if unpacker.eof:
                        at -= len(unpacker.unused_data)
                        ended = True
                        return

        self._through(pieces(), self.kind)
        return at - begun if ended else 0

    def _through(self, pieces: Iterator[bytes], inside: str) -> None:
        stream = Stream(self.place.needles)
        shown = self.place.shown(inside)
        try:
            for data in pieces:
                self._take(len(data))
                self.place.add(self.path, stream.feed(data), shown)
        finally:
            self.place.add(self.path, stream.end(), shown)

    def _take(self, amount: int) -> None:
        self.left -= amount
        self.budget.left -= amount
        self.place.read(amount)
        if self.left < 0 or self.budget.left < 0:
            raise TooMuch


def _pack_head(head: bytes) -> int:
    """The length of an object's head in a pack. Raises ValueError."""
    length = _number(head, 0)
    kind = head[0] >> 4 & 7
    if kind == 6:  # a difference to an object so many bytes before
        return _number(head, length)
    return length + (20 if kind == 7 else 0)  # 7: ... to the object of that name


def _number(head: bytes, at: int) -> int:
    """Where the number that begins there ends: its last byte has no top bit."""
    for place in range(at, len(head)):
        if not head[place] & 0x80:
            return place + 1
    raise ValueError("This is no pack.")


def _too_many_members(handle: int) -> bool:
    """Whether the list of a zip's members would fill our memory."""
    size = os.fstat(handle).st_size
    tail = os.pread(handle, 66_000, max(0, size - 66_000))
    at = tail.rfind(b"PK\x05\x06")
    listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    return b"PK\x06\x07" in tail or listed > LONGEST_LIST


MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    "zlib": zlib.decompressobj,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY),
}
