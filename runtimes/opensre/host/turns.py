"""A turn from what was sent to what is kept of it."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from runtimes.opensre.host.engine import Answer, Engine, Finding
from runtimes.opensre.host.events import Completed, Event
from runtimes.opensre.host.faults import failed
from runtimes.opensre.host.store import Store
from runtimes.opensre.host.work import Work

MAIN, MAIN_TITLE = "main", "Main"
UNTITLED = "Incident"
# Where the monitoring systems that OpenSRE knows put the name of an alert.
TITLES = (
    ("alert_name",), ("commonLabels", "alertname"), ("labels", "alertname"), ("title",), ("name",),
)  # fmt: skip
MOST_TITLE, MOST_ALERT = 120, 20_000  # characters

log = logging.getLogger(__name__)
Heard = AsyncIterator[Event | None]


class UnknownConversation(Exception):
    pass


class Turns:
    """`secrets` must not come back in a message about a failure."""

    def __init__(self, store: Store, engine: Engine, work: Work, secrets: Sequence[str]) -> None:
        self._store = store
        self._engine = engine
        self._work = work
        self._secrets = secrets
        # In one conversation, one after the other.
        self._lines = WeakValueDictionary[str, asyncio.Lock]()

    async def say(self, conversation: str, text: str) -> Heard:
        """The message is in the history when this returns, whatever becomes of the turn."""
        self._work.admit()
        if conversation == MAIN:
            await asyncio.to_thread(self._store.open, MAIN, MAIN_TITLE)
        elif not await asyncio.to_thread(self._store.exists, conversation):
            raise UnknownConversation
        message = await asyncio.to_thread(self._store.say, conversation, "user", text)
        return self._work.begin(self._answer(conversation, message))

    async def investigate(self, alert: Mapping[str, Any]) -> Heard:
        """The investigation is on record when this returns."""
        self._work.admit()
        investigation, title = f"inv_{uuid4().hex[:16]}", title_of(alert)
        await asyncio.to_thread(self._store.begin, investigation, title, shown(alert))
        return self._work.begin(self._look_into(investigation, title, alert))

    async def _answer(self, conversation: str, message: int) -> AsyncGenerator[Event, None]:
        line = self._lines.setdefault(conversation, asyncio.Lock())
        try:
            async with line:
                said = await asyncio.to_thread(self._store.context, conversation, message)
                async for event in self._engine.chat(said):
                    if isinstance(event, Answer):
                        await asyncio.to_thread(
                            self._store.say, conversation, "assistant", event.text
                        )
                        yield Completed(conversation, event.text)
                    else:
                        yield event
        except Exception as error:
            yield self._told("turn", error)

    async def _look_into(
        self, investigation: str, title: str, alert: Mapping[str, Any]
    ) -> AsyncGenerator[Event, None]:
        try:
            async for event in self._engine.investigate(title, alert):
                if isinstance(event, Finding):
                    await asyncio.to_thread(self._store.found, investigation, event)
                    yield Completed(investigation, event.report)
                else:
                    yield event
        except Exception as error:
            failure = self._told("investigation", error)
            await asyncio.to_thread(self._store.broke_off, investigation, failure.message)
            yield failure

    def _told(self, what: str, error: Exception) -> Any:
        failure = failed(error, self._secrets)
        log.warning("The %s failed (%s): %s", what, failure.code, failure.message)
        return failure


def title_of(alert: Mapping[str, Any]) -> str:
    for path in TITLES:
        value: Any = alert
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value.strip():
            return value.strip()[:MOST_TITLE]
    return UNTITLED


def shown(alert: Mapping[str, Any]) -> str:
    """The alert as the conversation about it begins with."""
    text = json.dumps(alert, indent=2, ensure_ascii=False)[:MOST_ALERT]
    return f"Investigate this alert:\n\n```json\n{text}\n```"
