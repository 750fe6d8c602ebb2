"""The same thing done bare and whole, in turns, so that both meet the same machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from bench import results


@dataclass(frozen=True)
class Pair:
    """Seconds, and the load average between the two."""

    bare: float
    whole: float
    load: float

    @property
    def ratio(self) -> float:
        return self.whole / self.bare


def nothing() -> None: ...


def alternate(
    bare: Callable[[], float],
    whole: Callable[[], float],
    count: int,
    *,
    before: Callable[[], None] = nothing,
) -> Iterator[Pair]:
    """Who goes first changes every time: the second may find things warm. `before` each pair comes
    what both of them meet."""
    for number in range(count):
        before()
        if number % 2:
            took = bare()
            load = results.load()
            yield Pair(took, whole(), load)
        else:
            took = whole()
            load = results.load()
            yield Pair(bare(), took, load)


def ratio(pairs: list[Pair]) -> float:
    return median(pair.ratio for pair in pairs)


def told(pairs: list[Pair]) -> list[dict[str, float]]:
    return [
        {
            "bare_s": round(pair.bare, 3),
            "whole_s": round(pair.whole, 3),
            "ratio": round(pair.ratio, 3),
            "load": pair.load,
        }
        for pair in pairs
    ]
