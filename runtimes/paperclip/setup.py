"""Paperclip's first run without a person, and its agent brought up to the platform's settings.

Everything is looked up before it is made, so any half of it can be repeated; with nothing to change
it is four short requests.
"""

from collections.abc import Mapping
from typing import Any

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.paperclip.calling import ask, read, send
from runtimes.paperclip.reading import id_of, understood
from runtimes.paperclip.signing_in import session
from runtimes.reading import an_object, objects, string

NAME, COMPANY, KEY_NAME = "Assistant", "Company", "platform"
HOUR = 3600
# Each run is a program of some 300 MB.
AT_ONCE = 2
# What each provider's model is worked through; the container is the sandbox of all of them.
ADAPTERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "anthropic": ("claude_local", {"engine": "cli", "command": "claude"}),
    "openai": (
        "codex_local",
        {"engine": "cli", "command": "codex", "dangerouslyBypassApprovalsAndSandbox": True},
    ),
    "gemini": ("pi_local", {"command": "pi"}),
    "custom": ("pi_local", {"command": "pi"}),
}


async def set_up(
    client: httpx.AsyncClient, endpoint: Endpoint, title: str, settings: Mapping[str, Any]
) -> Mapping[str, str]:
    token = endpoint.own.get("token", "")
    if not token or not await is_good(client, endpoint):
        token = await new_token(client, endpoint)
        endpoint = Endpoint(endpoint.base_url, token, {**endpoint.own, "token": token})
    await allow_chat(client, endpoint)
    company = await the_company(client, endpoint, title)
    agent = await the_agent(client, endpoint, company, settings)
    return {"token": token, "company": company, "agent": agent}


async def is_good(client: httpx.AsyncClient, endpoint: Endpoint) -> bool:
    try:
        await ask(client, endpoint, "GET", "/api/board-api-keys")
    except RuntimeRefused as refusal:
        if refusal.status not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise
        return False
    return True


async def new_token(client: httpx.AsyncClient, endpoint: Endpoint) -> str:
    """A key without end, of the one person there is: made now, and made the first admin."""
    base = endpoint.base_url
    cookies = await session(client, endpoint, base, sign_up=True)
    headers = {"Origin": base, "Cookie": cookies}
    try:
        await send(client, "POST", f"{base}/api/bootstrap/claim", headers, {})
    except RuntimeRefused as refusal:
        if refusal.status != httpx.codes.CONFLICT:  # By an earlier half of this.
            raise
    body = {"name": KEY_NAME, "expiresAt": None}
    made = await read(await send(client, "POST", f"{base}/api/board-api-keys", headers, body))
    with understood():
        return string(an_object(made)["token"])


async def allow_chat(client: httpx.AsyncClient, endpoint: Endpoint) -> None:
    path = "/api/instance/settings/experimental"
    found = await ask(client, endpoint, "GET", path)
    with understood():
        on = an_object(found).get("enableAgentChat")
    if on is not True:
        await ask(client, endpoint, "PATCH", path, {"enableAgentChat": True})


async def the_company(client: httpx.AsyncClient, endpoint: Endpoint, title: str) -> str:
    """The one from before, or else the first there is, or else a new one."""
    path = "/api/companies"
    found = await ask(client, endpoint, "GET", path)
    with understood():
        ids = [id_of(company) for company in objects(found)]
    if not ids:
        made = await ask(client, endpoint, "POST", path, {"name": title.strip() or COMPANY})
        with understood():
            return id_of(an_object(made))
    known = endpoint.own.get("company", "")
    return known if known in ids else ids[0]


async def the_agent(
    client: httpx.AsyncClient, endpoint: Endpoint, company: str, settings: Mapping[str, Any]
) -> str:
    """The agent people talk to, on the model the settings name; what else people gave it stays."""
    path, wanted = f"/api/companies/{company}/agents", configuration(settings)
    answer = await ask(client, endpoint, "GET", path)
    with understood():
        found = {id_of(agent): agent for agent in objects(answer)}
    named = [one for one, agent in found.items() if agent.get("name") == NAME]
    known = endpoint.own.get("agent", "")
    agent = known if known in found else next(iter(named), "")
    if not agent:
        heartbeat = {**wanted["runtimeConfig"]["heartbeat"], "maxConcurrentRuns": AT_ONCE}
        body = {
            "name": NAME,
            "role": "general",
            **wanted,
            "runtimeConfig": {"heartbeat": heartbeat},
        }
        made = await ask(client, endpoint, "POST", path, body)
        with understood():
            return id_of(an_object(made))
    if not holds(found[agent], wanted):
        runtime = merged(found[agent].get("runtimeConfig"), wanted["runtimeConfig"])
        body = {**wanted, "runtimeConfig": runtime}
        await ask(client, endpoint, "PATCH", f"/api/agents/{agent}", body)
    return agent


def configuration(settings: Mapping[str, Any]) -> dict[str, Any]:
    adapter, config = ADAPTERS[settings["provider"]]
    # Pi is told of one provider, ours, in the file that boot.py lays down.
    model = f"roost/{settings['model']}" if adapter == "pi_local" else settings["model"]
    asleep, awake = {"enabled": False}, {"enabled": True, "intervalSec": HOUR}
    return {
        "adapterType": adapter,
        "adapterConfig": {**config, "model": model},
        "runtimeConfig": {"heartbeat": awake if settings.get("background") is True else asleep},
    }


def holds(found: Any, wanted: Any) -> bool:
    """Whether what is there has at least what is wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(holds(found.get(k), wanted[k]) for k in wanted)
    return bool(found == wanted)


def merged(found: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted over what is there, at every depth."""
    there = dict(found) if isinstance(found, Mapping) else {}
    for name, value in wanted.items():
        there[name] = merged(there.get(name), value) if isinstance(value, Mapping) else value
    return there
