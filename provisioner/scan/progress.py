"""How far a scan has come, written now and then; a lost claim ends it from within."""

import time

from controlplane.jobs.claim import Claim

EVERY = 1.0  # seconds


class Progress:
    def __init__(self, claim: Claim, total: int) -> None:
        self._claim, self._total = claim, total
        self._bytes, self._done, self._told = 0, 0, 0.0

    def begin(self, number: int, title: str) -> None:
        """Raises ClaimLost, as `read` does."""
        self._done = number
        self._tell(place=title[:60], places_total=self._total)

    def read(self, amount: int) -> None:
        self._bytes += amount
        if time.monotonic() - self._told >= EVERY:
            self._tell()

    def pause(self, amount: int) -> None:
        """As `read`, in a place whose size is nobody's business: it is not counted."""
        self.read(0)

    def _tell(self, **columns: object) -> None:
        self._told = time.monotonic()
        self._claim.write(bytes_read=self._bytes, places_done=self._done, **columns)
