"""The node's own workers: passes run here for the sweep and the watch, with the queue away too."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

from provisioner.backend import Backend
from provisioner.reconcile import reconcile

log = logging.getLogger(__name__)

HANDS = 4  # the engine sets up endpoints one after the other: more would only wait
RETRIES = 20
RETRY_AFTER = 0.3  # seconds; while another worker holds the agent


class Crew:
    """Makes passes, never two at once for one agent. A call while one is under way is kept."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._pool = ThreadPoolExecutor(HANDS, thread_name_prefix="pass")
        self._busy: dict[str, bool] = {}  # agent: whether to go once more
        self._lock = threading.Lock()

    def nudge(self, agent_id: str, *, insist: bool = False) -> None:
        """`insist` waits for another worker to let go, where the news may have come too late for
        its pass; without it the sweep will come back."""
        with self._lock:
            if agent_id in self._busy:
                self._busy[agent_id] = self._busy[agent_id] or insist
                return
            self._busy[agent_id] = False
        self._pool.submit(self._work, agent_id, insist)

    def _work(self, agent_id: str, insist: bool) -> None:
        try:
            while True:
                self._pass(agent_id, insist)
                with self._lock:
                    if not self._busy[agent_id]:
                        del self._busy[agent_id]
                        return
                    self._busy[agent_id], insist = False, True
        except Exception:
            log.exception("pass over %s failed; the sweep tries again", agent_id)
            with self._lock:
                self._busy.pop(agent_id, None)
        finally:
            close_old_connections()

    def _pass(self, agent_id: str, insist: bool) -> None:
        for _ in range(RETRIES if insist else 1):
            if reconcile(agent_id, self.backend):
                return
            time.sleep(RETRY_AFTER if insist else 0)

    def stop(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
