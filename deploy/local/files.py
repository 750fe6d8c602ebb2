"""Private directories and files, and the mark that says a directory is ours to delete."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation

MARK = ".roost-state"


def prepare(installation: Installation) -> None:
    """Make the state directory (0700) and those in it; refuse one that holds others' files."""
    state_dir = installation.state_dir
    if state_dir.exists() and not is_ours(state_dir) and any(state_dir.iterdir()):
        raise CheckFailed(
            f"The state directory {state_dir} holds files that are not Roost's.",
            "Set ROOST_STATE_DIR to an empty or new directory.",
        )
    try:
        private(state_dir)
        if not is_ours(state_dir) or not (state_dir / MARK).read_text():
            (state_dir / MARK).write_text(_named(installation))
        private(installation.log_dir)
        private(installation.run_dir)
    except OSError as error:
        raise CheckFailed(
            f"The state directory {state_dir} cannot be used ({error.strerror}).",
            "Set ROOST_STATE_DIR to a directory this user may write.",
        ) from error


def refuse_other_name(installation: Installation) -> None:
    """A forgotten variable must not make a command act on another installation's containers."""
    mark = installation.state_dir / MARK
    known = mark.read_text() if mark.is_file() else ""
    if known and known != _named(installation):
        name, pool = known.split()
        raise CheckFailed(
            f"The state directory {installation.state_dir} belongs to the installation {name!r}.",
            f"Set ROOST_INSTALLATION={name} and ROOST_NETWORK_POOL={pool}, as when it was started.",
        )


def _named(installation: Installation) -> str:
    return f"{installation.name} {installation.pool}"


def is_ours(state_dir: Path) -> bool:
    return (state_dir / MARK).is_file()


def private(path: Path) -> None:
    """A directory of this user alone. One in /tmp that someone else made is refused."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.geteuid():
        raise CheckFailed(
            f"The directory {path} belongs to someone else.",
            "Remove it, or set ROOST_STATE_DIR to a shorter path.",
        )
    path.chmod(0o700)


def write(path: Path, text: str) -> None:
    """Replace the file as a whole; readable by this user alone from its first byte."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def write_json(path: Path, value: Mapping[str, object]) -> None:
    write(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, object]:
    """The object in the file; empty when the file is missing or not an object."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
