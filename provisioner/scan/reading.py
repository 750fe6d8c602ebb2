"""Reading one open file through a stream, piece by piece; holes are stepped over."""

import errno
import os
from collections.abc import Iterator

from provisioner.scan.needles import Hit, Stream
from provisioner.scan.place import Place

PIECE = 256 * 1024


def read_through(place: Place, handle: int, size: int) -> list[Hit]:
    """All hits in an open file. Raises OSError where the disk fails."""
    found: list[Hit] = []
    for start, end in written(handle, size):
        stream, at = Stream(place.needles, start), start
        while at < end and (data := os.pread(handle, min(PIECE, end - at), at)):
            place.count(len(data))
            found += stream.feed(data)
            at += len(data)
        found += stream.end()
    return found


def written(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """What of a file is not a hole, up to the size it had."""
    at = 0
    while at < size:
        try:
            start = os.lseek(handle, at, os.SEEK_DATA)
            end = os.lseek(handle, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole follows
                return
            start, end = at, size  # a file system that knows no holes
        yield start, min(end, size)
        at = end
