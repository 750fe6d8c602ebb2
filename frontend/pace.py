"""What a page can take of a log: an agent may write a gigabyte a second, no browser shows that."""

import time
from collections.abc import Callable
from typing import Any

LINES_A_SECOND, BURST = 100, 2000
Line = dict[str, Any]  # see controlplane.agents.gateway.logs


class Pace:
    """Lets lines through as fast as they can be shown, and says how many it left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._room, self._at = float(BURST), clock()
        self._left_out = 0

    def shown(self, lines: list[Line]) -> list[Line]:
        """Those of `lines` that there is room for, the newest, after a mark for those left out."""
        now = self._clock()
        self._room = min(BURST, self._room + (now - self._at) * LINES_A_SECOND)
        self._at = now
        fitting = lines[-int(self._room) :] if self._room >= 1 else []
        self._room -= len(fitting)
        self._left_out += len(lines) - len(fitting)
        if not fitting or not self._left_out:
            return fitting
        count, self._left_out = self._left_out, 0
        mark = f"{count} lines are not shown: it writes faster than a page can show. Download them."
        return [{"mark": mark}, *fitting]
