"""Looking for a secret in every shape a program may have written it in."""

import base64
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

CHUNK = 4 * 1024 * 1024


def shapes(value: str) -> set[bytes]:
    """Plain, quoted for JSON, URLs, shells and HTML, in hex, and in base64 at every alignment."""
    raw = value.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode()}
    found |= {quote(value, safe="").encode(), quote_plus(value).encode(), quote(value).encode()}
    found |= {json.dumps(value)[1:-1].encode(), json.dumps(json.dumps(value))[3:-3].encode()}
    found |= {value.replace("$", r"\$").replace('"', r"\"").encode()}
    found |= {value.replace("&", "&amp;").replace('"', "&quot;").encode()}
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw)
        inner = coded[(0, 2, 3)[before] : -4]  # without what its neighbours decide
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def in_text(patterns: Iterable[bytes], data: bytes) -> bool:
    return any(pattern in data for pattern in patterns)


def in_files(patterns: Iterable[bytes], tmp: Path, *places: Path) -> list[str]:
    """The files below `places` that hold one; mount points and devices are not entered."""
    listed = tmp / "patterns"
    listed.write_bytes(b"\n".join(patterns) + b"\n")
    there = [str(place) for place in places if place.exists()]
    assert there
    done = subprocess.run(
        ["grep", "--recursive", "--files-with-matches", "--text", "--fixed-strings",
         "--devices=skip", "--no-messages", f"--file={listed}", *there],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    listed.unlink()
    return done.stdout.splitlines()


def in_image(patterns: Iterable[bytes], path: Path) -> bool:
    """In the raw blocks of a disk image, whose holes are skipped."""
    patterns = list(patterns)
    longest = max(map(len, patterns))
    tail = b""
    for data in _written(path):
        if in_text(patterns, tail + data):
            return True
        tail = data[-longest:]
    return False


def _written(path: Path) -> Iterator[bytes]:
    handle = os.open(path, os.O_RDONLY)
    try:
        end, at = os.fstat(handle).st_size, 0
        while at < end:
            try:
                at = os.lseek(handle, at, os.SEEK_DATA)
            except OSError:
                return
            hole = os.lseek(handle, at, os.SEEK_HOLE)
            while at < hole:
                data = os.pread(handle, min(CHUNK, hole - at), at)
                yield data
                at += len(data)
    finally:
        os.close(handle)


def in_processes(patterns: Iterable[bytes]) -> list[str]:
    """Command lines and environments of every process of the host."""
    patterns, found = list(patterns), []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                data = (process / name).read_bytes()
            except OSError:  # it has ended
                continue
            if in_text(patterns, data):
                found.append(f"{process.name} {name}")
    return found
