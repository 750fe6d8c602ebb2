"""From what Paperclip says to the platform's words.

An agent may answer with anything, so nothing here trusts a shape: what Paperclip would not send
raises RuntimeRefused inside `understood`, whichever error it is by itself.
"""

import json
import re
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from runtimes import reading
from runtimes.adapter import Conversation, Failed, Message
from runtimes.reading import MOST_REASON, ODD, an_object, string

understood = partial(reading.understood, "Paperclip")
# Ids are put into paths and kept in the vault.
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
STATUS = re.compile(r"(?:status|error|http)(?: code)?\W{0,3}(\d{3})\b|^(\d{3})\b", re.IGNORECASE)
KIND = re.compile(
    r"(?P<key>(?:invalid|incorrect) (?:x-)?api.?key|api key not valid)"
    r"|(?P<rate>rate.?limit|too many requests)"
    r"|(?P<model>overloaded|model[^\n]{0,80} not (?:found|exist|supported))",
    re.IGNORECASE,
)
ROLES: dict[str, Literal["user", "assistant"]] = {"user": "user", "agent": "assistant"}


def id_of(item: dict[str, Any], name: str = "id") -> str:
    value = item[name]
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise TypeError("This is no id.")
    return value


def moment(value: Any) -> datetime | None:
    """A time as JavaScript writes it."""
    if value is None:
        return None
    at = datetime.fromisoformat(string(value))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def conversation_of(issue: dict[str, Any]) -> Conversation:
    """A chat or a task: both are issues to Paperclip, and messages are comments on them."""
    at = moment(issue.get("lastActivityAt") or issue.get("updatedAt"))
    return Conversation(id_of(issue), string(issue.get("title")), at, None)


def message_of(comment: dict[str, Any]) -> Message | None:
    """A message people can read; None for Paperclip's own notes and for what was deleted."""
    role, text = ROLES.get(string(comment.get("authorType"))), string(comment.get("body"))
    if role is None or not text or comment.get("deletedAt"):
        return None
    return Message(id_of(comment), role, text, moment(comment.get("createdAt")))


def failed(message: str) -> Failed:
    """Sorted by what the command-line agents say: the provider's status, or their own words."""
    status, kind = STATUS.search(message), KIND.search(message)
    told = int(next(filter(None, status.groups()))) if status else 0
    if told in (401, 403) or (kind and kind.lastgroup == "key"):
        code = "model_key_refused"
    elif told == 429 or (kind and kind.lastgroup == "rate"):
        code = "model_rate_limited"
    elif 400 <= told <= 599 or kind:
        code = "model_failed"
    else:
        code = "turn_failed"
    return Failed(code, message[:MOST_REASON])


def reason(body: bytes) -> str:
    """Paperclip's own message out of an error body, or the start of whatever came."""
    try:
        answer = an_object(json.loads(body))
        return string(answer.get("error") or answer["message"])[:MOST_REASON]
    except ODD:
        return body[:200].decode(errors="replace")
