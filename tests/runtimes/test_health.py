"""Alive is judged by the body, ready by the agent's own token."""

import asyncio
from collections.abc import Callable

import httpx
import pytest

from runtimes import health
from runtimes.adapter import Endpoint
from runtimes.capped import capped_client
from runtimes.catalog import CATALOG, Runtime
from runtimes.health import answers, is_healthy
from tests.runtimes.servers import drip, serving

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)]
URL = "http://10.0.0.2:1"


def client(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


async def test_the_expected_body_is_healthy(runtime: Runtime) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == runtime.health.path
        return httpx.Response(200, json={**runtime.health.expect, "more": 1})

    async with client(answer) as asker:
        assert await is_healthy(asker, runtime, URL)


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="ok"),
        httpx.Response(200, json=["ok"]),
        httpx.Response(200, json={"status": "starting"}),
        httpx.Response(302, headers={"location": "/login"}),
    ],
    ids=["text", "list", "other", "redirect"],
)
async def test_another_program_on_the_port_is_not_healthy(
    runtime: Runtime, response: httpx.Response
) -> None:
    async with client(lambda request: response) as asker:
        assert not await is_healthy(asker, runtime, URL)


async def test_the_right_body_with_an_error_status_is_not_healthy(runtime: Runtime) -> None:
    broken = httpx.Response(503, json=dict(runtime.health.expect))
    async with client(lambda request: broken) as asker:
        assert not await is_healthy(asker, runtime, URL)


async def test_no_answer_is_a_no_and_not_an_error(runtime: Runtime) -> None:
    async with client(refuse) as asker:
        assert not await is_healthy(asker, runtime, URL)
        assert not await answers(asker, runtime, Endpoint(URL, "t"))


async def test_ready_is_asked_with_the_agents_token(runtime: Runtime) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        right = request.headers.get("authorization") == "Bearer right"
        return httpx.Response(200 if right else 401)

    async with client(answer) as asker:
        assert await answers(asker, runtime, Endpoint(URL, "right"))
        assert not await answers(asker, runtime, Endpoint(URL, "wrong"))


async def test_an_agent_that_drips_its_answer_is_a_no_in_time(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each read of it is short, so that only a bound on the whole ends it."""
    monkeypatch.setattr(health, "TIMEOUT_S", 0.2)
    async with serving(drip) as port, capped_client(10**6) as asker, asyncio.timeout(5):
        url = f"http://127.0.0.1:{port}"
        assert not await is_healthy(asker, runtime, url)
        assert not await answers(asker, runtime, Endpoint(url, "t"))


async def test_a_thousand_brackets_are_not_healthy(runtime: Runtime) -> None:
    nested = httpx.Response(200, text="[" * 60_000)
    async with client(lambda request: nested) as asker:
        assert not await is_healthy(asker, runtime, URL)
