"""One readable line per step, with the time it took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WIDTH = 32


@dataclass
class Step:
    """A step under way; `note` is shown behind its time."""

    name: str
    note: str = ""


@contextmanager
def step(name: str) -> Iterator[Step]:
    """Print `name  1.2 s` when the block ends, or `name  failed after 1.2 s` when it raises."""
    current = Step(name)
    began = time.monotonic()
    if sys.stdout.isatty():
        print(f"{name:<{WIDTH}} ...", end="\r", flush=True)
    try:
        yield current
    except BaseException:
        print(f"{name:<{WIDTH}} failed after {_seconds(began)}", flush=True)
        raise
    note = f"  {current.note}" if current.note else ""
    print(f"{current.name:<{WIDTH}} {_seconds(began)}{note}", flush=True)


def say(line: str) -> None:
    print(line, flush=True)


def _seconds(began: float) -> str:
    return f"{time.monotonic() - began:5.1f} s"
