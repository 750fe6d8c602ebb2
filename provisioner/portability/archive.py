"""A snapshot as one compressed tar, by GNU tar and zstandard: sparse files, hard links, extended
attributes, odd names and times to the nanosecond are in it.

    roost-export.json     what it is of; see `about`
    workspace/            the agent's /workspace
"""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import WorkspaceTrouble

LEVEL = 3  # of zstandard: as fast as a disk reads
KINDS = {"file", "folder", "link"}  # pipes and devices mean nothing elsewhere
LABEL = "roost-export.json"
TOP = "workspace"
TAR = (
    "tar", "--create", "--format=posix", "--pax-option=delete=atime,delete=ctime", "--sparse",
    "--xattrs", "--xattrs-include=user.*", "--numeric-owner", "--no-recursion",
    f"--transform=flags=rh;s,^data,{TOP},",
)  # fmt: skip


class Packed:
    """The archive as something to read once; afterwards its size and its hash."""

    def __init__(self, stream: Any, tar: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
        self._stream, self._tar, self._errors = stream, tar, errors
        self._hash = hashlib.sha256()
        self.bytes = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def read(self, size: int = -1, /) -> bytes:
        """Raises WorkspaceTrouble where tar did not come to its end: half an archive is none."""
        piece: bytes = self._stream.read(size)
        if not piece and self._tar.wait():
            self._errors.seek(0)
            said = self._errors.read(2000).decode(errors="replace").strip().splitlines()
            raise WorkspaceTrouble(f"tar failed: {said[-1] if said else 'it gave no reason'}.")
        self._hash.update(piece)
        self.bytes += len(piece)
        return piece


@contextmanager
def packed(root: Path, found: Manifest, about: dict[str, Any]) -> Iterator[Packed]:
    """Of a copy's root, which holds `data/`. Raises WorkspaceTrouble."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="roost-export")))
        label = folder / LABEL
        label.write_text(json.dumps(about, indent=1) + "\n")
        label.chmod(0o644)
        names = held.enter_context(tempfile.TemporaryFile())
        names.write(b"data\0")
        for entry in found.entries:
            if entry.kind in KINDS:
                names.write(b"data/" + os.fsencode(entry.path) + b"\0")
        names.flush()
        errors = held.enter_context(tempfile.TemporaryFile())
        argv = [
            *TAR, f"--directory={folder}", LABEL, f"--directory={root}", "--null",
            "--verbatim-files-from", f"--files-from=/proc/self/fd/{names.fileno()}",
        ]  # fmt: skip
        os.lseek(names.fileno(), 0, os.SEEK_SET)
        try:
            tar = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=(names.fileno(),),
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            )
        except FileNotFoundError as error:
            raise WorkspaceTrouble("tar is not installed on this node.") from error
        assert tar.stdout is not None  # noqa: S101  a pipe was asked for
        try:
            stream = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).stream_reader(
                tar.stdout
            )
            yield Packed(stream, tar, errors)
        finally:
            tar.kill()
            tar.wait()
            tar.stdout.close()


def content_digest(found: Manifest) -> str:
    """Of what is in it, whoever owns it and whenever it was written: an archive that was unpacked
    is held against this."""
    digest = hashlib.sha256()
    for entry in found.entries:
        if entry.kind in KINDS:
            line = [entry.path, entry.kind, entry.size, entry.sha256, entry.target]
            digest.update(json.dumps(line).encode() + b"\n")
    return digest.hexdigest()
