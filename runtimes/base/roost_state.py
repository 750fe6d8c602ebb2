#!/usr/bin/python3 -I
"""Checkpoints that survive `kill -9`: saved whole or not at all. Standard library only.

    import roost_state

    n = roost_state.load("counter", 0)
    roost_state.save("counter", n + 1)

    for page in roost_state.remaining("import", pages):   # what is not done yet, each marked after
        fetch(page)

`save` returns when the checkpoint is on the disk. From then on every end of the process, of the
container or of the machine leaves it, or one saved later. Values are what JSON can say.

A checkpoint is one file, /workspace/.roost/checkpoints/NAME.json, a JSON object of three lines:
what it is, the steps that are done, the value. NAME.json.old is the one before it. What cannot be
read is put aside as NAME.json.broken-TIME, told on stderr, and the one before is used.

As a command: `roost-state --help`.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from typing import Any, NamedTuple

__all__ = [
    "Checkpoint",
    "StateError",
    "checkpoints",
    "done",
    "forget",
    "is_done",
    "load",
    "names",
    "path",
    "remaining",
    "save",
    "steps",
    "update",
]

FORMAT = 1
MOST_BYTES = 16 * 1024 * 1024  # of one checkpoint, as written
MOST_BROKEN = 3  # files put aside, for each name
WORKSPACE = "/workspace"
INSIDE = (".roost", "checkpoints")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# No link is followed, and no pipe holds a reader up.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

NO, MISUSED, FAILED = 1, 2, 3
EXIT_CODES = """\
exit codes: 0 done, or yes; 1 no (is-done: not done, load: nothing saved and no --default);
2 used wrongly (a bad name, not JSON, too large); 3 could not be read or written (a full disk)."""


class StateError(Exception):
    """Nothing was saved; what was saved before is whole. `misused` where the caller is to blame."""

    def __init__(self, message: str, misused: bool = False) -> None:
        super().__init__(message)
        self.misused = misused


class Checkpoint(NamedTuple):
    """`saved_at` is UTC as in RFC 3339, `sequence` counts the times it was written, from 1."""

    name: str
    saved_at: str
    sequence: int
    bytes: int
    steps: list[str]
    value: Any


class _Broken(Exception):
    """This file is no checkpoint; says why."""


def save(name: str, value: Any, *, step: str | None = None) -> int:
    """Save `value`, and mark `step` done in the same breath. Returns the sequence number."""
    return _change(name, lambda _: value, () if step is None else (step,)).sequence


def load(name: str, default: Any = None) -> Any:
    """What was saved last, or `default`."""
    found = _find(name)
    return default if found is None else found.value


def update(name: str, change: Callable[[Any], Any], default: Any = None) -> Any:
    """Save `change(what was saved, or default)` and return it; no other process comes between."""
    return _change(name, lambda old: change(default if old is None else old.value)).value


def done(name: str, step: str) -> None:
    """Mark a step done; of several processes none loses another's mark. Keeps the value."""
    _change(name, lambda old: None if old is None else old.value, (step,))


def is_done(name: str, step: str) -> bool:
    return step in steps(name)


def steps(name: str) -> list[str]:
    """Those marked done, the first first."""
    found = _find(name)
    return [] if found is None else found.steps


def remaining(name: str, items: Iterable[Any]) -> Iterator[Any]:
    """Those of `items` that are not done; each is marked when the loop comes back for the next.

    An item whose turn was cut off comes again, so its work must be safe to repeat.
    """
    before = set(steps(name))
    for item in items:
        if str(item) not in before:
            yield item
            done(name, str(item))
            before.add(str(item))


def forget(name: str) -> None:
    """Remove the checkpoint with its steps, to begin anew. Absent counts as forgotten."""
    _check_name(name)
    with _locked() as home:
        # The newest goes last: killed before that, it is still what is found.
        for file in (f".{name}.json.tmp", *_aside(home, name), f"{name}.json.old", f"{name}.json"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file, dir_fd=home)
        os.fsync(home)


def names() -> list[str]:
    with _seen() as home:
        files = [] if home is None else os.listdir(home)
    found = {
        file[: file.rindex(".json")] for file in files if file.endswith((".json", ".json.old"))
    }
    return sorted(name for name in found if NAME.fullmatch(name))


def checkpoints() -> list[Checkpoint]:
    """All that can be read."""
    found = [_find(name) for name in names()]
    return [one for one in found if one is not None]


def path() -> str:
    """The directory they lie in: ROOST_STATE_HOME, or the workspace's own."""
    return os.path.join(*_place())


def _change(
    name: str, change: Callable[[Checkpoint | None], Any], marks: Iterable[str] = ()
) -> Checkpoint:
    _check_name(name)
    with _locked() as home:
        old = _read_or_put_aside(home, name)
        value = change(old)
        marked = list(dict.fromkeys([*(old.steps if old else ()), *marks]))
        new = Checkpoint(name, _now(), old.sequence + 1 if old else 1, 0, marked, value)
        text = _written(new)
        try:
            _replace(home, name, text)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "The workspace is full: make room in it." if full else f"{error.strerror}."
            raise StateError(f"{name} was not saved; the one before it is whole. {why}") from error
        return new._replace(bytes=len(text))


def _written(new: Checkpoint) -> bytes:
    """The first line says all but the steps and the value: whoever lists needs no more."""
    head = {
        "format": FORMAT,
        "name": new.name,
        "saved_at": new.saved_at,
        "sequence": new.sequence,
        "steps_done": len(new.steps),
    }
    for step in new.steps:
        if not isinstance(step, str) or not step:
            raise StateError(f"A step is a text that is not empty, not {step!r:.60}.", misused=True)
    try:
        value = json.dumps(new.value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        said = f"{new.name} was not saved: JSON cannot say this value ({error})."
        raise StateError(said, misused=True) from error
    lines = f'{json.dumps(head)[:-1]},\n"steps": {json.dumps(new.steps)},\n"value": {value}}}\n'
    if len(lines) > MOST_BYTES:
        said = f"{new.name} was not saved: it has {len(lines)} bytes, and {MOST_BYTES} are the "
        said += "most. Keep large things in files of their own, and their names here."
        raise StateError(said, misused=True)
    return lines.encode("ascii")


def _replace(home: int, name: str, text: bytes) -> None:
    """Whole or not at all: written aside, brought to the disk, then renamed over the old one."""
    part, previous, file = f".{name}.json.tmp", f".{name}.old.tmp", f"{name}.json"
    for leftover in (part, previous):  # a killed writer's: nobody else writes now
        with contextlib.suppress(FileNotFoundError):
            os.unlink(leftover, dir_fd=home)
    try:
        with os.fdopen(os.open(part, WRITE, 0o600, dir_fd=home), "wb") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        with contextlib.suppress(FileNotFoundError):  # there is none before the first
            os.link(file, previous, src_dir_fd=home, dst_dir_fd=home, follow_symlinks=False)
            os.rename(previous, f"{file}.old", src_dir_fd=home, dst_dir_fd=home)
        os.rename(part, file, src_dir_fd=home, dst_dir_fd=home)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=home)
        raise
    os.fsync(home)


def _find(name: str) -> Checkpoint | None:
    _check_name(name)
    with _seen() as home:
        if home is None:
            return None
        with contextlib.suppress(_Broken):
            found = _read(home, f"{name}.json", name)
            # Renaming leaves no moment without a file: where there is none, none is being saved.
            return found or _read(home, f"{name}.json.old", name)
    with _locked() as home:
        return _read_or_put_aside(home, name)


def _read_or_put_aside(home: int, name: str) -> Checkpoint | None:
    """The newest that can be read. The lock is held: nobody else moves files now."""
    for file in (f"{name}.json", f"{name}.json.old"):
        try:
            found = _read(home, file, name)
        except _Broken as broken:
            _put_aside(home, name, file, str(broken))
        else:
            if found is not None:
                return found
    return None


def _read(home: int, file: str, name: str) -> Checkpoint | None:
    """None where there is no such file. Raises _Broken, and StateError where the disk fails."""
    try:
        if stat.S_ISDIR(os.lstat(file, dir_fd=home).st_mode):
            raise _Broken("it is not a file")
        handle = os.open(file, READ, dir_fd=home)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _Broken("it is not a file") from None
        raise StateError(f"{file} cannot be read: {error.strerror}.") from error
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _Broken("it is not a file")
        if status.st_size > MOST_BYTES:
            raise _Broken(f"it has {status.st_size} bytes")
        try:
            text = opened.read(MOST_BYTES + 1)
        except OSError as error:
            raise StateError(f"{file} cannot be read: {error.strerror}.") from error
    return _parsed(text, name)


def _parsed(text: bytes, name: str) -> Checkpoint:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise _Broken("it is not whole") from None
    try:
        mine = (told["format"], told["name"]) == (FORMAT, name)
        saved_at, sequence, marked, value = (
            told[key] for key in ("saved_at", "sequence", "steps", "value")
        )
        mine = mine and all(isinstance(one, str) for one in (saved_at, *marked))
    except (KeyError, TypeError):
        mine = False
    if not mine or not isinstance(sequence, int) or not isinstance(marked, list):
        raise _Broken("it is something else")
    return Checkpoint(name, saved_at, sequence, len(text), marked, value)


def _put_aside(home: int, name: str, file: str, why: str) -> None:
    aside = f"{name}.json.broken-{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%f}"  # noqa: UP017
    try:
        os.rename(file, aside, src_dir_fd=home, dst_dir_fd=home)
        for old in _aside(home, name)[:-MOST_BROKEN]:
            with contextlib.suppress(OSError):  # a directory stays
                os.unlink(old, dir_fd=home)
    except OSError as error:
        raise StateError(f"{file} is broken ({why}) and in the way: {error.strerror}.") from error
    said = f"roost-state: {file} cannot be used, {why}. It was put aside as {aside}."
    print(said, file=sys.stderr, flush=True)


def _aside(home: int, name: str) -> list[str]:
    return sorted(file for file in os.listdir(home) if file.startswith(f"{name}.json.broken-"))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        said = "A name has 1 to 100 letters, digits, dots, hyphens and underscores, and begins with"
        raise StateError(f"{said} a letter or digit; not {name!r:.120}.", misused=True)


def _place() -> tuple[str, ...]:
    """Where to begin, and the directories below it that must be no links."""
    chosen = os.environ.get("ROOST_STATE_HOME", "")
    if not chosen:
        return (WORKSPACE, *INSIDE)
    home = os.path.normpath(chosen)
    # Outside of its workspace an agent has memory and a read-only root: nothing there lasts.
    lasts = not os.path.isdir("/roost/id") or home.startswith(WORKSPACE + "/")
    if not os.path.isabs(chosen) or home == "/" or not lasts:
        said = f"ROOST_STATE_HOME must be a directory below {WORKSPACE}, not {chosen!r:.200}."
        raise StateError(said, misused=True)
    return (os.path.dirname(home), os.path.basename(home))


@contextlib.contextmanager
def _locked() -> Iterator[int]:
    """The directory's handle, made where there is none, for one process at a time."""
    with _seen(make=True) as home:
        if home is None:
            raise StateError(f"{path()} was removed meanwhile.")
        fcntl.flock(home, fcntl.LOCK_EX)  # goes with the handle, however this process ends
        yield home


@contextlib.contextmanager
def _seen(make: bool = False) -> Iterator[int | None]:
    """The directory's handle; None where there is none."""
    try:
        home = _open(make)
    except OSError as error:
        said = f"{path()} cannot be used: {error.strerror}. It must be a directory and no link."
        raise StateError(said) from error
    try:
        yield home
    finally:
        if home is not None:
            os.close(home)


def _open(make: bool) -> int | None:
    first, *below = _place()
    handle = os.open(first, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in below:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=handle)
                    os.fsync(handle)
            inner = os.open(part, DIRECTORY, dir_fd=handle)
        except FileNotFoundError:
            return None
        finally:
            os.close(handle)
        handle = inner
    return handle


def _now() -> str:
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S.%f}Z"  # noqa: UP017  Python 3.9


def main(argv: list[str] | None = None) -> int:
    told = _arguments().parse_args(argv)
    try:
        answer: int = told.run(told)
        return answer
    except StateError as error:
        print(f"roost-state: {error}", file=sys.stderr)
        return MISUSED if error.misused else FAILED


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "roost-state",
        description="Save and load checkpoints in the agent's workspace. They survive kill -9.",
        epilog=EXIT_CODES,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(title: str, run: Callable[[Any], int], about: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(title, help=about, description=about, epilog=EXIT_CODES)
        one.set_defaults(run=run)
        return one

    saving = verb("save", _cli_save, "Save JSON from a file, or from standard input.")
    saving.add_argument("name")
    saving.add_argument("file", nargs="?", default="-")
    saving.add_argument("--step", help="mark this step done in the same breath")
    loading = verb("load", _cli_load, "Print what was saved, as JSON.")
    loading.add_argument("name")
    loading.add_argument("--default", help="JSON to print where nothing was saved")
    listing = verb("list", _cli_list, "List the checkpoints.")
    listing.add_argument("--json", action="store_true")
    for title, run, about in (
        ("done", _cli_done, "Mark a step done."),
        ("is-done", _cli_is_done, "Exit with 0 where a step is done, else with 1."),
    ):
        one = verb(title, run, about)
        one.add_argument("name")
        one.add_argument("step")
    verb("forget", _cli_forget, "Remove a checkpoint and its steps.").add_argument("name")
    verb("path", _cli_path, "Print the directory the checkpoints lie in.")
    return parser


def _cli_save(told: Any) -> int:
    _check_name(told.name)
    try:
        if told.file == "-":
            text = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(told.file, "rb") as file:
                text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise StateError(f"{told.file} cannot be read: {error.strerror}.") from error
    if len(text) > MOST_BYTES:
        raise StateError(f"This is larger than {MOST_BYTES} bytes.", misused=True)
    save(told.name, _json(text, "What is to be saved"), step=told.step)
    return 0


def _json(text: bytes | str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{what} is not JSON: {error}.", misused=True) from error


def _cli_load(told: Any) -> int:
    nothing = object()
    value = load(told.name, nothing)
    if value is nothing:
        if told.default is None:
            print(f"roost-state: nothing is saved as {told.name}.", file=sys.stderr)
            return NO
        value = _json(told.default, "The default")
    print(json.dumps(value))
    return 0


def _cli_list(told: Any) -> int:
    found = checkpoints()
    if told.json:
        kept = ("name", "saved_at", "sequence", "bytes", "steps")
        print(json.dumps([{key: getattr(one, key) for key in kept} for one in found]))
        return 0
    for one in found:
        print(f"{one.name}\t{one.saved_at}\t#{one.sequence}\t{len(one.steps)} steps done")
    return 0


def _cli_done(told: Any) -> int:
    done(told.name, told.step)
    return 0


def _cli_is_done(told: Any) -> int:
    return 0 if is_done(told.name, told.step) else NO


def _cli_forget(told: Any) -> int:
    forget(told.name)
    return 0


def _cli_path(told: Any) -> int:
    print(path())
    return 0


if __name__ == "__main__":
    sys.exit(main())
