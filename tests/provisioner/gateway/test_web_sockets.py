"""Sockets to an agent's web UI: who may open one, what passes, and how both halves end."""

import asyncio

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from controlplane.agents.models import Agent
from controlplane.database import from_async
from controlplane.tenants.models import Membership, Role, User
from provisioner.gateway.web import app, rights
from tests.provisioner.gateway.web_rig import Rig

pytestmark = pytest.mark.django_db(transaction=True)


def refusal(rig: Rig, path: str = "/echo", *, signed_in: bool = True, **more) -> int:
    """The status of a handshake that is refused."""

    async def ask():
        async with rig.open() as web:
            if signed_in:
                await web.enter()
            with pytest.raises(InvalidStatus) as caught:
                async with web.socket(path, **more):
                    pass
            return caught.value.response.status_code

    return asyncio.run(ask())


def test_words_and_bytes_pass_both_ways(rig):
    async def talk():
        async with rig.open() as web:
            await web.enter()
            async with web.socket("/echo?a=%2F", subprotocols=["one", "two"]) as socket:
                await socket.send("grüße")
                text = await socket.recv()
                await socket.send(b"\x00\xff" * 100_000)
                return socket.subprotocol, text, len(await socket.recv())

    assert asyncio.run(talk()) == ("two", "grüße", 200_000)
    assert rig.ui.seen[0].scope["query_string"] == b"a=%2F"


def test_an_agent_sees_its_own_sign_in_and_nothing_of_the_browsers(rig):
    async def talk():
        async with rig.open() as web:
            await web.enter()
            async with web.socket("/echo"):
                return web.host, web.origin

    host, origin = asyncio.run(talk())
    seen = rig.ui.seen[0].headers
    assert seen.getlist("cookie") == ["agents-own=1"]
    assert (seen["host"], seen["origin"]) == (host, origin)
    assert "x-forwarded-for" not in seen


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example",
                                    "http://agt-other.localhost:8702"])  # fmt: skip
def test_another_origin_is_refused_before_the_upgrade(rig, origin):
    assert refusal(rig, origin=origin) == 403
    assert rig.ui.seen == []


def test_without_a_session_it_is_refused_before_the_upgrade(rig):
    assert refusal(rig, signed_in=False) == 401
    assert rig.ui.seen == []


def test_a_closed_part_is_refused_before_the_upgrade(rig):
    assert refusal(rig, "/keys/socket") == 403


def test_who_does_not_run_is_refused_before_the_upgrade(rig):
    Agent.objects.update(status="stopped")

    assert refusal(rig) == 409


def test_what_the_agent_refuses_is_refused_as_it_does(rig):
    assert refusal(rig, "/no") == 418


def test_an_agent_cannot_send_us_elsewhere(rig):
    assert refusal(rig, "/elsewhere") == 502
    assert rig.ui.seen == []


def test_the_agents_goodbye_reaches_the_browser(rig):
    async def talk():
        async with rig.open() as web:
            await web.enter()
            async with web.socket("/bye") as socket:
                with pytest.raises(ConnectionClosed) as caught:
                    await socket.recv()
            return caught.value.rcvd

    goodbye = asyncio.run(talk())
    assert (goodbye.code, goodbye.reason) == (4321, "enough")


def test_the_browsers_goodbye_reaches_the_agent(rig):
    async def talk():
        async with rig.open() as web:
            await web.enter()
            async with web.socket("/echo") as socket:
                await socket.close(4567)
            async with asyncio.timeout(10):
                await rig.ui.left.wait()

    asyncio.run(talk())
    assert rig.ui.bodies == [b"4567"]


LOSSES = {
    "role lowered": lambda: Membership.objects.update(role=Role.VIEWER),
    "membership gone": lambda: Membership.objects.all().delete(),
    "person locked out": lambda: User.objects.update(is_active=False),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_socket_ends_with_the_right_to_it(rig, monkeypatch, lose):
    monkeypatch.setattr(app, "LOOK", 0.05)
    monkeypatch.setattr(rights, "FRESH", 0.05)

    async def talk():
        async with rig.open() as web, asyncio.timeout(10):
            await web.enter()
            async with web.socket("/echo") as socket:
                await from_async(lose)()
                with pytest.raises(ConnectionClosed) as caught:
                    await socket.recv()
            await rig.ui.left.wait()
            return caught.value.rcvd.code

    assert asyncio.run(talk()) == 1008


def test_a_lost_right_is_noticed_within_five_seconds():
    assert app.LOOK + rights.FRESH < 5
