"""A vault that hangs holds up one caller at a time; the others are told at once."""

import time
from collections.abc import Callable
from threading import Lock

from controlplane.keys.vault.base import VaultUnavailable

PAUSE = 5.0  # seconds; longer than one call may take


class Breaker:
    """Open for PAUSE seconds after a call that hung; then a single call tries for all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._why = ""
        self._until = 0.0

    def enter(self) -> None:
        """Before each call. Raises VaultUnavailable while there is no use in one."""
        with self._lock:
            if not self._why:
                return
            if self._clock() < self._until:
                raise VaultUnavailable(self._why)
            self._until = self._clock() + PAUSE  # this call tries, the others wait for what it says

    def hung(self, why: str) -> None:
        with self._lock:
            self._why, self._until = why, self._clock() + PAUSE

    def answered(self) -> None:
        """Whatever it said: it does not hang."""
        self._why = ""
