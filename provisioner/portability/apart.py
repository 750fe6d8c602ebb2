"""Starting `unpack` and feeding it the archive, of which this process reads not one header."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from provisioner.portability.streams import Bad
from provisioner.workspaces.base import AGENT_UID

MODULE = "provisioner.portability.unpack"
DIED = (
    "The program that unpacks it ended without a word, as when it needs too much memory. Nothing "
    "of it was taken. Pack it anew, or ask your operator."
)


def unpack(
    pieces: Iterable[bytes],
    root: Path,
    *,
    disk_bytes: int,
    runtime: str,
    beside: Mapping[str, str],
) -> dict[str, Any]:
    """{"about": what the archive says of itself or None, "entries", "base": the folder below which
    it lies, "" where it is the workspace itself}. Raises Bad, and what reading `pieces` raises."""
    order = {
        "root": str(root),
        "uid": AGENT_UID,
        "disk_bytes": disk_bytes,
        "runtime": runtime,
        "beside": dict(beside),
    }
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONUTF8": "1",
    }
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-m", MODULE, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=said,
            env=environment,
        )
        try:
            _feed(child, pieces)
            child.wait()
        finally:
            child.kill()
            child.wait()
        said.seek(0)
        return _verdict(said.read())


def _feed(child: "subprocess.Popen[bytes]", pieces: Iterable[bytes]) -> None:
    """Until it has seen enough: its verdict says why."""
    assert child.stdin is not None  # noqa: S101  a pipe was asked for
    with contextlib.suppress(BrokenPipeError), child.stdin as pipe:
        for piece in pieces:
            pipe.write(piece)
            pipe.flush()


def _verdict(text: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise Bad("archive_refused", DIED) from error
    if "reason" in found:
        raise Bad(found["reason"], found["message"])
    return found
