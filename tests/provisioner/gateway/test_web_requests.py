"""Requests to an agent's web UI: what an agent sees of them, and a browser of its answers."""

import asyncio

import httpx
import pytest

from controlplane.agents.addresses import web_host, web_origin
from controlplane.agents.models import Agent
from controlplane.database import from_async
from controlplane.tenants.models import Membership, Role
from provisioner.gateway.web import app, bodies, crowd, rights
from tests.provisioner.gateway.web_rig import Rig

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def visit(rig: Rig, method: str = "GET", path: str = "/hello", **more) -> httpx.Response:
    """One request of somebody who is signed in."""

    async def ask():
        async with rig.open() as web:
            await web.enter()
            return await web.ask(method, path, **more)

    return asyncio.run(ask())


def test_an_agent_sees_its_own_sign_in_and_nothing_of_the_browsers(rig):
    told = {
        "Authorization": "Bearer mine",
        "X-Forwarded-For": "6.6.6.6",
        "Forwarded": "for=6.6.6.6",
        "X-Agents-Own": "forged",
        "X-HTTP-Method-Override": "DELETE",
        "Connection": "X-Hop",
        "X-Hop": "1",
        "X-Page": "7",
    }
    visit(rig, headers=told)

    seen = rig.ui.seen[0].headers
    assert seen.getlist("cookie") == ["agents-own=1"]
    assert seen.getlist("x-agents-own") == ["1"]
    assert seen.getlist("host") == [web_host(rig.agent.pk)]
    assert seen["x-page"] == "7"
    gone = {"authorization", "x-forwarded-for", "forwarded", "x-http-method-override", "x-hop"}
    assert gone.isdisjoint(seen)


def test_a_browser_gets_no_cookie_of_the_agents_and_may_not_be_framed(rig):
    answer = visit(rig)

    assert (answer.status_code, answer.text, answer.headers["x-kept"]) == (200, "hello", "yes")
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_path_and_query_arrive_as_they_were_written(rig):
    visit(rig, path="/a%2Fb%20c/?q=%26&r=1%2B1")

    scope = rig.ui.seen[0].scope
    assert (scope["raw_path"], scope["query_string"]) == (b"/a%2Fb%20c/", b"q=%26&r=1%2B1")


def test_a_redirect_to_plain_http_leads_home(rig, settings):
    settings.ROOST_AGENTS_SCHEME = "https"

    answer = visit(rig, path="/away")

    assert answer.headers["location"] == f"{web_origin(rig.agent.pk)}/there"


@pytest.mark.parametrize("size", [10, 3 * 1024 * 1024])
def test_a_body_arrives_whole(rig, size):
    body = b"x" * size
    visit(
        rig,
        "PUT",
        headers={"Origin": f"http://{rig.agent.pk.replace('_', '-')}.localhost:8702"},
        content=body,
    )

    assert rig.ui.bodies == [body]


@pytest.mark.parametrize("known", [True, False], ids=["announced", "in pieces"])
def test_too_large_a_body_is_refused(rig, monkeypatch, known):
    monkeypatch.setattr(bodies, "MOST", 2 * 1024 * 1024)

    async def pieces():
        for _ in range(5):
            yield b"x" * 1024 * 1024

    async def ask():
        async with rig.open() as web:
            await web.enter()
            body = b"x" * 5 * 1024 * 1024 if known else pieces()
            return await web.post("/upload", content=body)

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_sign_in_is_shared(rig):
    async def ask():
        async with rig.open() as web:
            await web.enter()
            await asyncio.gather(*(web.get("/hello") for _ in range(10)))

    asyncio.run(ask())
    assert (rig.ui.signed_in, len(rig.ui.seen)) == (1, 10)


def test_an_expired_sign_in_is_renewed_and_the_request_said_again(rig):
    rig.ui.good_from = 2

    async def ask():
        async with rig.open() as web:
            await web.enter()
            return await web.post("/hello", content=b"once more")

    assert asyncio.run(ask()).status_code == 200
    assert (rig.ui.signed_in, rig.ui.bodies) == (2, [b"once more", b"once more"])


def test_who_is_never_content_is_not_asked_for_ever(rig):
    rig.ui.good_from = 99

    assert visit(rig).status_code == 401
    assert (rig.ui.signed_in, len(rig.ui.seen)) == (2, 2)


@pytest.mark.parametrize(
    ("path", "method"),
    [("/keys", "GET"), ("/keys/1", "POST"), ("//keys", "GET"), ("/a/..//keys/1", "GET"),
     ("/%6beys", "GET"), ("/KEYS", "GET"), ("/./keys", "GET"), ("/%5Ckeys", "GET")],
)  # fmt: skip
def test_what_the_runtime_keeps_closed_is_closed_however_it_is_spelled(rig, path, method):
    answer = visit(rig, method, path, headers={"Origin": web_origin(rig.agent.pk)})

    assert (answer.status_code, answer.json()["code"]) == (403, "closed")
    assert rig.ui.seen == []


FOREIGN = [
    ("POST", {"Origin": None}),
    ("POST", {"Origin": "null"}),
    ("POST", {"Origin": "http://evil.example"}),
    ("POST", {"Origin": "http://agt-other.localhost:8702"}),
    ("GET", {"Origin": "http://evil.example"}),
    ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
    ("GET", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}),
    ("GET", {"Sec-Fetch-Site": "cross-site", **PAGE, "Sec-Fetch-Dest": "iframe"}),
    ("HEAD", {"Sec-Fetch-Site": "same-site", **PAGE}),
]


@pytest.mark.parametrize(("method", "headers"), FOREIGN)
def test_another_sites_request_is_refused(rig, method, headers):
    answer = visit(rig, method, headers=headers)

    assert answer.status_code == 403
    assert rig.ui.seen == []


def test_a_link_from_elsewhere_leads_in(rig):
    assert visit(rig, headers={"Sec-Fetch-Site": "cross-site", **PAGE}).status_code == 200


def test_an_event_stream_comes_as_it_is_said_and_is_let_go_of(rig):
    async def ask():
        async with rig.open() as web:
            await web.enter()
            async with web.stream("/stream") as response:
                first = await anext(response.aiter_bytes())
            async with asyncio.timeout(10):
                await rig.ui.left.wait()
            return first

    assert asyncio.run(ask()) == b"data: first\n\n"


def test_a_stream_ends_with_the_right_to_it(rig, monkeypatch):
    monkeypatch.setattr(app, "LOOK", 0.05)
    monkeypatch.setattr(rights, "FRESH", 0.05)

    async def read(web):
        async with web.stream("/stream") as response:
            async for _ in response.aiter_bytes():
                await from_async(Membership.objects.update)(role=Role.VIEWER)

    async def ask():
        async with rig.open() as web, asyncio.timeout(10):
            await web.enter()
            with pytest.raises(httpx.RemoteProtocolError):
                await read(web)
            return await web.get("/hello", **PAGE)

    answer = asyncio.run(ask())
    assert answer.status_code == 403
    assert "You may not open this any more" in answer.text


@pytest.mark.parametrize("page", [PAGE, {}], ids=["page", "script"])
def test_who_does_not_answer_is_named(rig, page):
    async def ask():
        async with rig.open(ui=False) as web:
            await web.enter()
            return await web.get("/hello", **page)

    answer = asyncio.run(ask())
    assert answer.status_code == 502
    assert "its own web UI does not come up" in answer.text
    assert ("<h1>" in answer.text) is bool(page)


@pytest.mark.parametrize(("status", "again"), [("stopped", None), ("starting", "5")])
def test_who_does_not_run_is_named_and_a_page_leads_to_it(rig, status, again):
    Agent.objects.filter(pk=rig.agent.pk).update(status=status)

    answer = visit(rig, headers=PAGE)

    assert (answer.status_code, answer.headers.get("refresh")) == (409, again)
    assert f"scout is {status}" in answer.text
    assert 'href="http://127.0.0.1:8700/acme/agents/scout"' in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_runtime_without_a_web_ui_says_so(rig):
    rig.ui = None

    async def ask():
        async with rig.open(ui=False) as web:
            await web.enter()
            return await web.get("/")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["code"]) == (404, "no_web_ui")


def test_one_agent_has_so_many_lines_at_once(rig, monkeypatch):
    monkeypatch.setattr(crowd, "MOST_OF_ONE", 1)

    async def ask():
        async with rig.open() as web:
            await web.enter()
            async with web.stream("/stream"):
                crowded = await web.get("/hello")
            async with asyncio.timeout(10):
                while (answer := await web.get("/hello")).status_code == 429:
                    await asyncio.sleep(0.02)
            return crowded.status_code, answer.status_code

    assert asyncio.run(ask()) == (429, 200)


def test_an_error_of_ours_is_told_and_logged(rig, monkeypatch, caplog):
    async def broken(*args):
        raise KeyError("State")

    monkeypatch.setattr(rig.ui, "sign_in", broken)

    answer = visit(rig)

    assert (answer.status_code, answer.json()["code"]) == (502, "gateway_failed")
    assert "KeyError" in caplog.text
