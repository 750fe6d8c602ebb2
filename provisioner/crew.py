"""The node's own workers: passes run here for the sweep and the watch, with the queue away too."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

from controlplane.agents.models import Agent
from provisioner.backend import Backend
from provisioner.reconcile import reconcile

log = logging.getLogger(__name__)

HANDS = 4  # the engine sets up endpoints one after the other: more would only wait
RETRIES = 20
RETRY_AFTER = 0.3  # seconds; while another worker holds the agent


class Crew:
    """Makes passes, never two at once for one agent. A call that insists while one is under way
    makes another one follow."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._pool = ThreadPoolExecutor(HANDS, thread_name_prefix="pass")
        self._busy: dict[str, bool] = {}  # agent: whether to go once more
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def nudge(self, agent_id: str, *, insist: bool = False) -> None:
        """`insist` comes back while another worker holds the agent, where the news may have come
        too late for its pass; without it the sweep will come back."""
        self._submit(agent_id, RETRIES if insist else 0)

    def _submit(self, agent_id: str, tries: int) -> None:
        if self._stopped.is_set():
            return
        with self._lock:
            if agent_id in self._busy:
                self._busy[agent_id] = self._busy[agent_id] or tries > 0
                return
            self._busy[agent_id] = False
        self._pool.submit(self._work, agent_id, tries)

    def _work(self, agent_id: str, tries: int) -> None:
        again = False
        try:
            held = not reconcile(agent_id, self.backend)
            again = held and tries > 0 and Agent.objects.filter(pk=agent_id).exists()
        except Exception:
            log.exception("pass over %s failed; the sweep tries again", agent_id)
        finally:
            close_old_connections()
            with self._lock:
                more = self._busy.pop(agent_id)
        if again:
            # A hand that slept meanwhile would be missing to others.
            timer = threading.Timer(RETRY_AFTER, self._submit, (agent_id, tries - 1))
            timer.daemon = True
            timer.start()
        elif more:
            self._submit(agent_id, RETRIES)

    def stop(self) -> None:
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
