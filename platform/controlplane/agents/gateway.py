"""The web process's line to the node's gateway, which alone may speak to engines and agents.

Everything here is async and streams; errors come as GatewayUnavailable (503), or with the
gateway's own status, code and sentence: GatewayRefusal (4xx), GatewayFailure (5xx).
"""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
from django.conf import settings

from controlplane.agents import tickets
from controlplane.agents.errors import GatewayUnavailable
from controlplane.agents.models import Agent
from controlplane.database import from_async
from controlplane.errors import Refusal
from controlplane.tenants.access import Access
from runtimes.lines import lines as lines_of

# A turn may think for a long time between two words; the line itself answers at once.
TIMEOUT = httpx.Timeout(10, read=600)


class GatewayRefusal(Refusal):
    """What the gateway refused, in its words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class NothingSent(GatewayUnavailable):
    """The agent surely heard nothing, so that saying it again says it once."""


class GatewayFailure(NothingSent):
    """What the gateway could not do, in its words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


async def conversations(access: Access, agent: Agent) -> list[dict[str, Any]]:
    answer = await _get(access, agent, "history", "conversations")
    rows: list[dict[str, Any]] = answer["conversations"]
    return rows


async def history(access: Access, agent: Agent, conversation: str | None = None) -> dict[str, Any]:
    """{"conversation": id, "messages": [{"id","role","text","at"}]}, oldest first."""
    query = {"conversation": conversation} if conversation else {}
    return await _get(access, agent, "history", "messages", query)


async def stream_message(
    access: Access, agent: Agent, text: str, conversation: str | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Events: {"type": "delta", "text"}, {"type": "tool", "name", "state", "detail"},
    {"type": "completed", "conversation", "text"}, {"type": "failed", "code", "message"}.
    The last is always completed or failed. Leaving early leaves the agent's turn running."""
    body = {"text": text, "conversation": conversation}
    async with aclosing(_lines(access, agent, "chat", "POST", "messages", json=body)) as found:
        async for line in found:
            yield json.loads(line)


async def investigations(access: Access, agent: Agent) -> list[dict[str, Any]]:
    """Finished looks into alerts, the newest first, without their reports."""
    found = await _get(access, agent, "history", "investigations")
    rows: list[dict[str, Any]] = found["investigations"]
    return rows


async def investigation(access: Access, agent: Agent, investigation: str) -> dict[str, Any]:
    """One with its report, in Markdown."""
    path = f"investigations/{quote(investigation, safe='')}"
    found: dict[str, Any] = (await _get(access, agent, "history", path))["investigation"]
    return found


async def stream_investigation(
    access: Access, agent: Agent, alert: dict[str, Any]
) -> AsyncIterator[dict[str, Any]]:
    """Events as of `stream_message`; the last one's conversation is the investigation's id, its
    text the report."""
    options = {"json": {"alert": alert}}
    async with aclosing(
        _lines(access, agent, "chat", "POST", "investigations", **options)
    ) as found:
        async for line in found:
            yield json.loads(line)


async def logs(
    access: Access, agent: Agent, *, follow: bool = False, since: str = "", tail: int = 500
) -> AsyncIterator[dict[str, Any]]:
    """{"at": RFC 3339 with nanoseconds, "text"}; resume with `since=` the last `at`.

    {"mark": sentence} tells of a replaced container. Ends when the agent is not followed any
    more; follow again with `since`.
    """
    query = {"follow": "1" if follow else "", "since": since, "tail": str(tail)}
    async with aclosing(_lines(access, agent, "logs", "GET", "logs", params=query)) as found:
        async for line in found:
            yield json.loads(line)


async def checkpoints(access: Access, agent: Agent) -> dict[str, Any]:
    """{"checkpoints": [{"name", "saved_at", "age_s", "sequence", "bytes", "steps_done", "broken",
    "why", "put_aside"}], "note"}, by name; what is not known of a broken one is None."""
    return await _get(access, agent, "checkpoints", "checkpoints")


async def snapshot_diff(
    access: Access, agent: Agent, snapshot: str, *, against: str, cursor: int = 0, limit: int = 2000
) -> dict[str, Any]:
    """What changed from `against` to `snapshot`: see provisioner.snapshots.looking.changes. Both
    are ids of this agent's snapshots."""
    query = {"against": against, "cursor": str(cursor), "limit": str(limit)}
    return await _get(access, agent, "snapshots", f"snapshots/{snapshot}/diff", query)


async def snapshot_text(
    access: Access, agent: Agent, snapshot: str, *, against: str, path: str
) -> dict[str, Any]:
    """{"path", "diff": unified, "why": there is none}"""
    query = {"against": against, "path": path}
    return await _get(access, agent, "snapshots", f"snapshots/{snapshot}/diff/text", query)


async def snapshot_files(
    access: Access, agent: Agent, snapshot: str, *, path: str = "", cursor: int = 0
) -> dict[str, Any]:
    """One folder of it: see provisioner.snapshots.looking.folder."""
    query = {"path": path, "cursor": str(cursor)}
    return await _get(access, agent, "snapshots", f"snapshots/{snapshot}/files", query)


async def _get(
    access: Access, agent: Agent, verb: str, path: str, query: dict[str, str] | None = None
) -> dict[str, Any]:
    return await fetch(access, agent.pk, verb, f"agents/{agent.pk}/{path}", query)


async def fetch(
    access: Access, subject: str, verb: str, path: str, query: dict[str, str] | None = None
) -> dict[str, Any]:
    """What the gateway answers to a ticket for `subject`, the id of an agent or of what the
    organisation has beside its agents. `path` is below /gateway/."""
    headers = await _headers(access, subject, verb)
    url = f"{settings.GATEWAY_URL}/gateway/{path}"
    try:
        async with _client() as client:
            response = await client.get(url, params=query, headers=headers)
    except httpx.HTTPError as error:
        raise GatewayUnavailable from error
    _refuse(response.status_code, response.content)
    answer: dict[str, Any] = response.json()
    return answer


async def _lines(
    access: Access, agent: Agent, verb: str, method: str, path: str, **options: Any
) -> AsyncGenerator[str, None]:
    headers = await _headers(access, agent.pk, verb)
    try:
        async with (
            _client() as client,
            client.stream(method, _url(agent, path), headers=headers, **options) as response,
        ):
            if response.status_code >= 400:
                _refuse(response.status_code, await response.aread())
            async with aclosing(lines_of(response.aiter_bytes())) as found:
                async for line in found:
                    if line:  # an empty one says that the other side is there
                        yield line
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NothingSent from error
    except httpx.HTTPError as error:
        raise GatewayUnavailable from error


async def _headers(access: Access, subject: str, verb: str) -> dict[str, str]:
    ticket = await from_async(tickets.issue)(access, subject, verb)
    return {"X-Roost-Ticket": ticket}


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=TIMEOUT, trust_env=False, verify=_trust())


@cache
def _trust() -> ssl.SSLContext:
    """Read once: by itself every client reads all certificate authorities, 30 ms of a core."""
    return httpx.create_ssl_context(trust_env=False)


def _url(agent: Agent, path: str) -> str:
    return f"{settings.GATEWAY_URL}/gateway/agents/{agent.pk}/{path}"


def _refuse(status: int, body: bytes) -> None:
    if status < 400:
        return
    try:
        problem = json.loads(body)
        code, message = problem["code"], problem["message"]
    except (ValueError, KeyError, TypeError) as error:
        raise NothingSent from error
    if status >= 500:
        raise GatewayFailure(status, code, message)
    raise GatewayRefusal(status, code, message)
