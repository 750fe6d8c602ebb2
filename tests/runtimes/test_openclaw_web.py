"""Signing people in to OpenClaw's own UI."""

import httpx
import pytest

from runtimes.adapter import RuntimeRefused, RuntimeUnreachable
from runtimes.openclaw import web as module
from runtimes.openclaw.web import web
from tests.runtimes.fake_openclaw import ENDPOINT, TOKEN

pytestmark = pytest.mark.anyio
UI = "http://10.0.0.2:18789"


class Door:
    """Answers the probe with each status in turn, the last one again and again."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if not status:
            raise httpx.ConnectError("nobody listens")
        return httpx.Response(status)


async def sign_in(door: Door) -> dict[str, str]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(door)) as client:
        return dict(await web.sign_in(client, ENDPOINT, UI, "http://agt-1.localhost:8702"))


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.01)


async def test_people_come_in_with_the_agents_token_which_no_address_holds() -> None:
    door = Door(200)
    assert await sign_in(door) == {"Authorization": f"Bearer {TOKEN}"}
    assert TOKEN not in str(door.asked[0].url)


async def test_it_waits_until_the_ui_answers() -> None:
    door = Door(0, 503, 200)
    assert await sign_in(door)
    assert len(door.asked) == 3


async def test_a_ui_that_never_answers_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.1)
    with pytest.raises(RuntimeUnreachable, match="does not answer"):
        await sign_in(Door(0))


async def test_a_token_it_does_not_know_is_not_waited_for() -> None:
    door = Door(401)
    with pytest.raises(RuntimeRefused, match="not accepted"):
        await sign_in(door)
    assert len(door.asked) == 1


def test_only_an_unknown_token_asks_for_another_sign_in() -> None:
    assert web.expired(401, "/")
    assert not web.expired(404, "/chat/main")
