"""A claim on one agent for one worker: it expires, and carries a fencing number.

Two workers never both write an agent's status: every write names the fence it was given,
and a stale worker's writes match no row. A worker that dies loses its claim when the
time is up; one that lives renews it.
"""

import os
import socket
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from django.db.models import F
from django.utils.timezone import now

from controlplane.agents.models import Agent

TTL = timedelta(seconds=15)


class LeaseLost(Exception):
    """Somebody else holds this agent now; stop touching it."""


def worker_name() -> str:
    return f"{socket.gethostname()[:40]}:{os.getpid()}:{threading.get_native_id()}"


@dataclass(frozen=True)
class Lease:
    agent_id: str
    fence: int

    @classmethod
    def claim(cls, agent_id: str, ttl: timedelta = TTL) -> Self | None:
        """None while another worker holds it. Of two racing, the database lets one win."""
        moment, me = now(), worker_name()
        mine = Agent.objects.filter(pk=agent_id).unleased(moment)
        won = mine.update(lease_owner=me, lease_until=moment + ttl, fence=F("fence") + 1)
        if not won:
            return None
        # Should so much time pass here that it expired and went to another, the fence is theirs.
        mine = Agent.objects.filter(pk=agent_id, lease_owner=me)
        fence = mine.values_list("fence", flat=True).first()
        return None if fence is None else cls(agent_id, fence)

    def renew(self, ttl: timedelta = TTL) -> None:
        self.write(lease_until=now() + ttl)

    def write(self, **columns: Any) -> None:
        """Write workers' columns. Raises LeaseLost."""
        if not Agent.objects.filter(pk=self.agent_id, fence=self.fence).update(**columns):
            raise LeaseLost(self.agent_id)

    def release(self) -> None:
        """Give it back; losing it meanwhile is no error."""
        Agent.objects.filter(pk=self.agent_id, fence=self.fence).update(
            lease_owner="", lease_until=None
        )
