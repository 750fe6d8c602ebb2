"""Renewing a claim beside long work, such as a polite stop that takes its whole grace, or a disk
or a store that says nothing for long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol

from django.db import DatabaseError, connection


class Renewed(Protocol):
    """An agent's lease or a job's claim."""

    def renew(self) -> None: ...


@contextmanager
def kept_alive(claim: Renewed, ttl: timedelta, lost: type[Exception]) -> Iterator[None]:
    """Renews three times per life of the claim, from a thread; `lost` is what renewing raises once
    somebody else has it: the work finds out at its next write."""
    done = threading.Event()

    def renew() -> None:
        try:
            while not done.wait(ttl.total_seconds() / 3):
                try:
                    claim.renew()
                except lost:
                    return
                except DatabaseError:
                    connection.close()  # try again with a new one; it may still be ours
        finally:
            connection.close()

    thread = threading.Thread(target=renew, name=f"renews {claim}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
