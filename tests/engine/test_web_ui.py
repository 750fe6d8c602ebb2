"""Hermes' own web UI, from a browser's side: through the gateway, under the agent's host name."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from controlplane.agents import tickets
from controlplane.agents.addresses import web_host, web_origin
from controlplane.agents.models import Agent
from controlplane.database import from_async
from controlplane.tenants.access import Access
from controlplane.tenants.models import Membership, Role
from provisioner.backend import _backend
from provisioner.gateway.app import make_app
from runtimes.hermes.doorman import PORT as DOORMAN
from tests.engine.talk import say
from tests.provisioner.gateway.web_rig import served


@pytest.fixture
def gateway(settings, backend):
    """The gateway's process would find the same node in its own settings."""
    settings.ROOST_ENGINE, settings.ROOST_WORKSPACE_DRIVER = "docker", "loop"
    _backend.cache_clear()
    yield
    _backend.cache_clear()


class Tab:
    """A browser at the agent's host."""

    def __init__(self, access: Access, agent: Agent, port: int, client: httpx.AsyncClient) -> None:
        self._access, self._agent, self._port, self._client = access, agent, port, client
        self._own = {"Host": web_host(agent.pk)}
        self.origin = web_origin(agent.pk)

    async def enter(self) -> None:
        form = {"ticket": tickets.issue(self._access, self._agent.pk, "web")}
        answer = await self.post("/.roost/enter", "http://127.0.0.1:8700", data=form)
        assert answer.status_code == 303, answer.text
        self._own["Cookie"] = answer.headers["set-cookie"].partition(";")[0]

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self._client.get(path, headers={**self._own, **headers})

    async def post(self, path: str, origin: str = "", **more) -> httpx.Response:
        headers = {**self._own, "Origin": origin or self.origin}
        return await self._client.post(path, headers=headers, **more)

    def socket(self, path: str) -> connect:
        url = f"ws://{self._own['Host']}{path}"
        cookie = {"Cookie": self._own["Cookie"]}
        where = {"host": "127.0.0.1", "port": self._port, "proxy": None}
        return connect(url, additional_headers=cookie, origin=self.origin, **where)


@asynccontextmanager
async def tab(access: Access, agent: Agent) -> AsyncIterator[Tab]:
    async with served(make_app(), "127.0.0.1", 0) as port:
        url = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=120) as client:
            yield Tab(access, agent, port, client)


async def last_word(socket: ClientConnection) -> int:
    """The code with which the other side closes it, soon."""
    with contextlib.suppress(ConnectionClosed):
        async with asyncio.timeout(10):
            while True:
                await socket.recv()
    assert socket.close_code is not None
    return socket.close_code


def test_a_person_comes_in_uses_it_and_is_shown_out(running, as_alice, gateway):
    async def visit():
        async with tab(as_alice, running) as browser:
            await browser.enter()
            page = await browser.get("/")
            me = await browser.get("/api/auth/me")
            ticket = (await browser.post("/api/auth/ws-ticket")).json()["ticket"]
            async with browser.socket(f"/api/ws?ticket={ticket}") as socket:
                hello = json.loads(await socket.recv())
                await from_async(Membership.objects.update)(role=Role.VIEWER)
                goodbye = await last_word(socket)
            return page, me, hello, goodbye, await browser.get("/api/auth/me")

    page, me, hello, code, after = asyncio.run(visit())
    assert (page.status_code, '<div id="root">' in page.text) == (200, True)
    assert (me.status_code, me.json()["user_id"]) == (200, "roost")
    assert "set-cookie" not in {*page.headers, *me.headers}
    assert hello
    assert (code, after.status_code) == (1008, 403)


def test_what_was_said_in_the_dashboard_is_there(running, as_alice, gateway, backend):
    say(backend, running, "Remember: the codeword is heron-4711")

    async def visit():
        async with tab(as_alice, running) as browser:
            await browser.enter()
            return (await browser.get("/api/sessions/main/messages")).text

    assert "heron-4711" in asyncio.run(visit())


def test_keys_are_neither_shown_nor_taken(running, as_alice, gateway):
    async def visit():
        async with tab(as_alice, running) as browser:
            await browser.enter()
            key = {"key": "OPENAI_API_KEY", "value": "sk-typed-into-the-dashboard"}
            reveal = await browser.post("/api/env/reveal", json=key)
            pool = {"provider": "openai", "api_key": "sk-typed-into-the-dashboard"}
            refused = await browser.post("/api/credentials/pool", json=pool)
            outside = await browser.get("/api/files?path=/roost/keys")
            shown = await browser.get("/api/env")
            return reveal, refused, outside, shown

    reveal, refused, outside, shown = asyncio.run(visit())
    assert (reveal.status_code, refused.status_code, outside.status_code) == (403, 403, 403)
    assert [name for name, row in shown.json().items() if row["redacted_value"]] == []


def test_nobody_comes_in_beside_the_gateway(running, gateway):
    """From the node itself, without what the gateway knows."""
    doorman = f"http://{running.address}:{DOORMAN}/dashboard"

    assert httpx.post(doorman, trust_env=False).status_code == 401
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{running.address}:9119/", trust_env=False)
