"""What changed in one file between two snapshots, as a unified diff.

The files are an agent's own, so nothing about them is believed: they are opened as `confined`
tells, read up to a bound, and compared with the hash in the manifest.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from provisioner.confined import opened_file, opened_folder, opened_root
from provisioner.snapshots.manifest import Entry
from provisioner.snapshots.naming import written
from provisioner.snapshots.ship import NotAsItWas
from provisioner.workspaces.base import Clones, WorkspaceTrouble

MOST = 256 * 1024  # bytes of one file
PATIENCE = 10  # seconds
NOTHING = "/dev/null"  # what diff(1) calls a file that is not there
COMPARE = ("diff", "--unified", "--text")

SAME = "The content is the same in both; only its times, owner, rights or attributes differ."
NO_FILE = "It is no file in at least one of the two, so there is no text to compare."
TOO_LARGE = f"It is larger than {MOST // 1024} KiB, so its text is not compared here."
NO_TEXT = "It is no text (UTF-8), so only its size can be compared."
TOO_LONG = f"Comparing took longer than {PATIENCE} s and was given up."


@dataclass(frozen=True)
class TextDiff:
    """Either `diff`, or `why` there is none."""

    diff: str = ""
    why: str = ""


class _Unfit(Exception):
    """There is no diff; says why."""


def text_diff(clones: Clones, agent_id: str, old: "Side", new: "Side") -> TextDiff:
    """Raises CloneMissing, WorkspaceTrouble."""
    try:
        sides = (old, new)
        for side in sides:
            _check(side.entry)
        if old.entry and new.entry and old.entry.sha256 == new.entry.sha256:
            raise _Unfit(SAME)
        texts = [_read(clones, agent_id, side) for side in sides]
        return TextDiff(diff=_compared(sides, texts))
    except _Unfit as unfit:
        return TextDiff(why=str(unfit))


@dataclass(frozen=True)
class Side:
    clone_id: str
    entry: Entry | None  # None where the file is not there


def _check(entry: Entry | None) -> None:
    if entry is None:
        return
    if entry.kind != "file":
        raise _Unfit(NO_FILE)
    if entry.size > MOST:
        raise _Unfit(TOO_LARGE)


def _read(clones: Clones, agent_id: str, side: Side) -> bytes:
    if side.entry is None:
        return b""
    with clones.opened(agent_id, side.clone_id) as root:
        try:
            found = _content(root / "data", side.entry.path)
        except OSError as error:
            raise WorkspaceTrouble(f"A file of the copy cannot be read: {error}.") from error
    if hashlib.sha256(found).hexdigest() != side.entry.sha256:
        raise NotAsItWas("copy on the node")
    if b"\0" in found:
        raise _Unfit(NO_TEXT)
    try:
        found.decode()
    except UnicodeDecodeError as error:
        raise _Unfit(NO_TEXT) from error
    return found


def _content(data: Path, path: str) -> bytes:
    *folders, name = path.split("/")
    with (
        opened_root(data) as root,
        opened_folder(root, folders) as folder,
        opened_file(folder, name) as handle,
        open(handle, "rb", closefd=False) as file,
    ):
        return file.read(MOST + 1)


def _compared(sides: tuple[Side, Side], texts: list[bytes]) -> str:
    """By diff(1), in a process of its own: whatever the lines are, it ends soon, and nothing else
    in this process waits for it."""
    names = [written(side.entry.path) if side.entry else NOTHING for side in sides]
    labels = [f"--label={name}" for name in names]
    with ExitStack() as held:
        files = [held.enter_context(_in_memory(text)) for text in texts]
        paths = [f"/proc/self/fd/{file}" for file in files]
        try:
            done = subprocess.run(
                [*COMPARE, *labels, "--", *paths],
                capture_output=True, pass_fds=files, timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _Unfit(TOO_LONG) from error
        except FileNotFoundError as error:
            raise WorkspaceTrouble("diff is not installed on this node.") from error
    if done.returncode > 1:
        raise WorkspaceTrouble(f"diff failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


@contextmanager
def _in_memory(text: bytes) -> Iterator[int]:
    handle = os.memfd_create("side")
    try:
        os.write(handle, text)
        yield handle
    finally:
        os.close(handle)
