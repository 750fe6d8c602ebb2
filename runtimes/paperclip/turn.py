"""One message to Paperclip and the run it woke: how far it is, what it answers, how it ended."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx

from runtimes.adapter import Endpoint, Failed
from runtimes.paperclip.calling import ask
from runtimes.paperclip.places import path_of
from runtimes.paperclip.reading import failed, id_of, understood
from runtimes.reading import an_object, objects, string

# A message wakes the agent at once, or after the run it is busy with.
MOST_WAIT_S, PAUSE_S = 60.0, 0.5
# Soon after a failed run Paperclip plans the next try, or says that it has had enough.
MOST_WAIT_FOR_RETRY_S = 30.0
LIVE = ("queued", "running", "scheduled_retry")
MOST_LOG = 4 * 1024 * 1024


@dataclass(frozen=True)
class State:
    """Of a run: `output` is the bytes of its log so far."""

    status: str
    output: int
    error: str = ""

    @property
    def ended(self) -> bool:
        return self.status not in LIVE


class Turn:
    def __init__(
        self, client: httpx.AsyncClient, endpoint: Endpoint, conversation: str, message: str
    ) -> None:
        self._client, self._endpoint = client, endpoint
        self._path, self._message = path_of(conversation), message

    async def begun(self) -> str | None:
        """The run that has this message; None when none took it while the agent was free."""
        until = time.monotonic() + MOST_WAIT_S
        while True:
            runs = await self._runs()
            with understood():
                mine = [id_of(run, "runId") for run in runs if self._message in woken_by(run)]
                busy = any(run.get("status") in LIVE for run in runs)
            if mine:
                return mine[-1]  # The first: later ones are its retries.
            if time.monotonic() > until and not busy:
                return None
            await asyncio.sleep(PAUSE_S)

    async def state(self, run: str) -> State:
        """Cheaply while it goes on; its whole record, which is large, only once it ended."""
        live = await self._get(f"{self._path}/live-runs")
        with understood():
            for one in objects(live):
                if one.get("id") == run:
                    return State(string(one.get("status")), number(one.get("lastOutputBytes")))
        record = await self._get(f"/api/heartbeat-runs/{run}")
        with understood():
            record = an_object(record)
            status, error = string(record.get("status")), string(record.get("error"))
            return State(status, number(record.get("logBytes")), error)

    async def log(self, run: str, start: int, end: int) -> str:
        start = max(start, end - MOST_LOG)
        path = f"/api/heartbeat-runs/{run}/log?offset={start}&limitBytes={end - start}"
        found = await self._get(path)
        with understood():
            return string(an_object(found).get("content"))

    async def answer(self, run: str) -> str:
        """What the agent said in this run; Paperclip keeps it as a comment, also of an error."""
        path = f"{self._path}/comments?after={self._message}&order=asc"
        found = await self._get(path)
        with understood():
            said = [
                string(comment.get("body"))
                for comment in objects(found)
                if comment.get("createdByRunId") == run and comment.get("authorType") == "agent"
            ]
        return "\n\n".join(said)

    async def next_try(self, run: str) -> str | None:
        """The run by which Paperclip tries again after this one failed, if it does. Also waits
        until it has put away what the failed one held: killed before that, the conversation would
        be held back for good."""
        until = time.monotonic() + MOST_WAIT_FOR_RETRY_S
        while True:
            runs = await self._runs()
            with understood():
                for one in runs:
                    if one.get("retryOfRunId") == run and self._message in woken_by(one):
                        return id_of(one, "runId")
            mine = next((one for one in runs if one.get("runId") == run), {})
            lease = mine.get("environmentLease")
            released = not isinstance(lease, dict) or lease.get("releasedAt")
            over = mine.get("retryExhaustedReason") and released
            if over or time.monotonic() > until:
                return None
            await asyncio.sleep(PAUSE_S)

    async def held_back(self) -> Failed:
        """Why no run took the message up, in Paperclip's words where it has some."""
        issue = await self._get(self._path)
        with understood():
            blocker = an_object(issue).get("executionBlocker") or {}
            why = string(an_object(blocker).get("nextAction"))
        return Failed(
            "turn_failed", f"Paperclip did not start the agent for this message. {why}".strip()
        )

    async def _runs(self) -> list[dict[str, Any]]:
        """The runs of this conversation, the newest first."""
        found = await self._get(f"{self._path}/runs")
        with understood():
            return objects(found)

    async def _get(self, path: str) -> Any:
        return await ask(self._client, self._endpoint, "GET", path)


def woken_by(run: dict[str, Any]) -> list[Any]:
    several = run.get("wakeCommentIds")
    return [*(several if isinstance(several, list) else []), run.get("wakeCommentId")]


def number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def outcome(state: State, answer: str) -> Failed:
    if state.status in ("interrupted", "cancelled"):
        return Failed("turn_failed", "The agent was interrupted; say it again to have an answer.")
    if state.status == "timed_out":
        return Failed("turn_failed", "The agent took longer than Paperclip lets it.")
    return failed(state.error or answer or "The run failed, and Paperclip does not say why.")
