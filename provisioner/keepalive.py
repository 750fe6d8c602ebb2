"""Renewing a lease beside long work, such as a polite stop that takes its whole grace."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

from controlplane.agents.lease import TTL, Lease, LeaseLost


@contextmanager
def kept_alive(lease: Lease) -> Iterator[None]:
    """Renews three times per life of the lease, from a thread beside the pass."""
    done = threading.Event()

    def renew() -> None:
        try:
            while not done.wait(TTL.total_seconds() / 3):
                try:
                    lease.renew()
                except LeaseLost:
                    return  # the pass finds out at its next write
                except DatabaseError:
                    connection.close()  # try again with a new one; the lease may still be ours
        finally:
            connection.close()

    thread = threading.Thread(target=renew, name=f"lease {lease.agent_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
