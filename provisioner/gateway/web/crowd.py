"""How many requests and sockets may be open: each costs two connections of the gateway."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from provisioner.gateway.web.refusals import WebRefusal

MOST_OF_ONE, MOST = 200, 2000


class Crowd:
    def __init__(self) -> None:
        self._inside = Counter[str]()

    @contextmanager
    def place(self, agent_id: str) -> Iterator[None]:
        """Raises GatewayProblem 429."""
        if self._inside[agent_id] >= MOST_OF_ONE or self._inside.total() >= MOST:
            raise WebRefusal(
                429,
                "too_many_connections",
                "Too many connections are open",
                "Close a tab of this agent's web UI, and try again.",
            )
        self._inside[agent_id] += 1
        try:
            yield
        finally:
            self._inside[agent_id] -= 1
            self._inside += Counter()  # forgets those who are at zero
