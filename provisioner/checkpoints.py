"""What an agent's checkpoints say of themselves, read out of a workspace its agent may change.

Agents save them with `roost_state` (runtimes/base/roost_state.py). Of a file only its size, its
first line and its last two bytes are read: never the value, however large. How its files are opened
is told in `confined`.
"""

import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from provisioner.confined import NoFile, opened_file, opened_folder, opened_root

FOLDERS = (".roost", "checkpoints")
FORMAT = 1
MOST_NAMES = 5000  # names looked at in the folder
MOST = 200  # checkpoints told of
MOST_HEAD = 4096  # bytes of a first line
MOST_BYTES = 16 * 1024 * 1024  # what roost_state writes at most
MOST_NUMBER = 2**53  # beyond it JavaScript counts wrongly
NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})\.json(\.broken-[0-9T.]{1,40})?")
SAVED_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)

NO_FILE = "It is not a file, and was not opened."
TORN = "It is not whole. The agent puts it aside when it loads it and goes on from the one before."
FOREIGN = "It was not written by roost-state."
TOO_LARGE = "It is larger than a checkpoint can be."
UNREADABLE = "The node could not read it."
ASIDE = "The agent put it aside as broken, and has saved none since."
NO_FOLDER = "/workspace/.roost/checkpoints is not a folder of the workspace, so nothing was read."


@dataclass(frozen=True)
class Checkpoint:
    """What cannot be known of a broken one is None; `why` is then a sentence. `age_s` is seconds
    by the node's clock, `put_aside` counts broken files of this name beside it."""

    name: str
    saved_at: str | None = None  # RFC 3339, UTC
    age_s: int | None = None
    sequence: int | None = None
    bytes: int | None = None
    steps_done: int | None = None
    broken: bool = False
    why: str = ""
    put_aside: int = 0


@dataclass(frozen=True)
class Listing:
    """By name. `note` says what is odd about the folder itself."""

    checkpoints: list[Checkpoint]
    note: str = ""


class _Unfit(Exception):
    """Not a checkpoint; says why."""


def read_checkpoints(workspace: Path, at: datetime | None = None) -> Listing:
    """Raises OSError where the workspace itself cannot be opened."""
    at = at or datetime.now(UTC)
    with opened_root(workspace) as root:
        try:
            with opened_folder(root, FOLDERS) as folder:
                return _listed(folder, at)
        except FileNotFoundError:
            return Listing([])
        except OSError:
            return Listing([], NO_FOLDER)


def _listed(folder: int, at: datetime) -> Listing:
    files, looked = _files(folder)
    here = {found[1] for found in files if not found[2]}
    aside = Counter(found[1] for found in files if found[2])
    names = sorted({*here, *aside})
    rows = [
        _read(folder, name, at, aside[name]) if name in here else _lost(name, aside[name])
        for name in names[:MOST]
    ]
    note = ""
    if looked >= MOST_NAMES:
        note = f"The folder is crowded: the first {MOST_NAMES} names in it were looked at."
    elif len(names) > MOST:
        note = f"There are {len(names)} checkpoints; the first {MOST} by name are told of."
    return Listing(rows, note)


def _files(folder: int) -> tuple[list[re.Match[str]], int]:
    """Names that are a checkpoint's, and how many names were looked at."""
    found, looked = [], 0
    with os.scandir(folder) as entries:
        for entry in entries:
            looked += 1
            if match := NAME.fullmatch(entry.name):
                found.append(match)
            if looked >= MOST_NAMES:
                break
    return found, looked


def _lost(name: str, aside: int) -> Checkpoint:
    return Checkpoint(name, broken=True, why=ASIDE, put_aside=aside)


def _read(folder: int, name: str, at: datetime, aside: int) -> Checkpoint:
    size = None
    try:
        with opened_file(folder, f"{name}.json") as handle:
            size = os.fstat(handle).st_size
            told = _told(handle, size, name)
        saved = datetime.fromisoformat(told["saved_at"])
        age = max(0, int((at - saved).total_seconds()))
    except _Unfit as unfit:
        return Checkpoint(name, bytes=size, broken=True, why=str(unfit), put_aside=aside)
    except NoFile:
        return Checkpoint(name, broken=True, why=NO_FILE, put_aside=aside)
    except ValueError:  # of the time
        return Checkpoint(name, bytes=size, broken=True, why=FOREIGN, put_aside=aside)
    except OSError:
        return Checkpoint(name, bytes=size, broken=True, why=UNREADABLE, put_aside=aside)
    return Checkpoint(
        name, told["saved_at"], age, told["sequence"], size, told["steps_done"], put_aside=aside
    )


def _told(handle: int, size: int, name: str) -> dict[str, Any]:
    """The first line's fields, each checked: an agent can write what it likes."""
    if size > MOST_BYTES:
        raise _Unfit(TOO_LARGE)
    head, line, _ = os.pread(handle, MOST_HEAD, 0).partition(b",\n")
    if os.pread(handle, 2, max(0, size - 2)) != b"}\n":
        raise _Unfit(TORN)
    try:
        told = json.loads(head + b"}") if line else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not _sound(told, name):
        raise _Unfit(FOREIGN)
    return told


def _sound(told: dict[str, Any], name: str) -> bool:
    saved_at = told.get("saved_at")
    numbers = (told.get("sequence"), told.get("steps_done"))
    return (
        (told.get("format"), told.get("name")) == (FORMAT, name)
        and isinstance(saved_at, str)
        and SAVED_AT.fullmatch(saved_at) is not None
        and all(_counts(number) for number in numbers)
    )


def _counts(number: object) -> bool:
    return type(number) is int and 0 <= number <= MOST_NUMBER
