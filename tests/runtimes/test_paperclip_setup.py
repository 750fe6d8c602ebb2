"""The first run without a person, and bringing a used one up to new settings."""

from typing import Any

import pytest

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.paperclip.setup import set_up
from tests.runtimes.fake_paperclip import BASE, PASSWORD, SETTINGS, FakePaperclip

pytestmark = pytest.mark.anyio
BLANK = Endpoint(BASE, "g" * 48, {"password": PASSWORD})


async def run(
    paperclip: FakePaperclip, endpoint: Endpoint = BLANK, **settings: Any
) -> dict[str, str]:
    async with paperclip.client() as client:
        return dict(await set_up(client, endpoint, "My agent", {**SETTINGS, **settings}))


def after(found: dict[str, str]) -> Endpoint:
    return Endpoint(BASE, found["token"], {"password": PASSWORD, **found})


async def test_a_blank_one_gets_an_owner_a_company_and_an_agent() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    assert paperclip.people == {"owner@agent.invalid": PASSWORD}
    assert paperclip.claimed
    assert paperclip.chat_on
    assert [company["name"] for company in paperclip.companies] == ["My agent"]
    assert found == {
        "token": "pcp_board_1",
        "company": paperclip.companies[0]["id"],
        "agent": paperclip.agents[0]["id"],
    }


async def test_a_second_time_changes_nothing() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    paperclip.changes.clear()
    assert await run(paperclip, after(found)) == found
    assert paperclip.changes == []


@pytest.mark.parametrize("steps", range(1, 6))
async def test_any_half_of_it_can_be_repeated(steps: int) -> None:
    """Its steps are the changes it makes; what it came back with is lost each time."""
    paperclip = FakePaperclip()
    paperclip.people["owner@agent.invalid"] = PASSWORD
    paperclip.claimed, paperclip.chat_on = steps > 1, steps > 2
    if steps > 3:
        paperclip.new(paperclip.companies, name="My agent")
    if steps > 4:
        paperclip.new(paperclip.agents, name="Assistant", adapterType="pi_local")
    await run(paperclip)
    assert len(paperclip.companies) == len(paperclip.agents) == 1
    assert paperclip.agents[0]["adapterType"] == "claude_local"


async def test_a_token_that_is_good_no_more_is_replaced() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    paperclip.sign_up_open = False
    paperclip.tokens = ["pcp_board_of_another_time"]
    assert (await run(paperclip, after(found)))["token"] == "pcp_board_2"


async def test_a_password_that_does_not_fit_is_told() -> None:
    paperclip = FakePaperclip()
    await run(paperclip)
    paperclip.sign_up_open = False
    with pytest.raises(RuntimeRefused, match="Sign up is not enabled"):
        await run(paperclip, Endpoint(BASE, "g" * 48, {"password": "f" * 48}))


@pytest.mark.parametrize(
    ("provider", "adapter", "model"),
    [
        ("anthropic", "claude_local", "m-1"),
        ("openai", "codex_local", "m-1"),
        ("gemini", "pi_local", "roost/m-1"),
        ("custom", "pi_local", "roost/m-1"),
    ],
)
async def test_each_provider_is_worked_through_its_own_program(
    provider: str, adapter: str, model: str
) -> None:
    paperclip = FakePaperclip()
    await run(paperclip, provider=provider)
    (agent,) = paperclip.agents
    assert (agent["adapterType"], agent["adapterConfig"]["model"]) == (adapter, model)
    # The other engine writes the model's key into the workspace.
    assert adapter == "pi_local" or agent["adapterConfig"]["engine"] == "cli"


async def test_a_new_model_reaches_the_agent_that_is_there() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    await run(paperclip, after(found), model="m-2")
    assert [agent["adapterConfig"]["model"] for agent in paperclip.agents] == ["m-2"]


async def test_what_people_gave_their_agent_stays() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    (agent,) = paperclip.agents
    agent |= {"name": "Ada", "title": "Bookkeeper"}
    agent["runtimeConfig"]["heartbeat"]["maxConcurrentRuns"] = 5
    await run(paperclip, after(found), model="m-2")
    assert (agent["name"], agent["title"]) == ("Ada", "Bookkeeper")
    assert agent["runtimeConfig"]["heartbeat"]["maxConcurrentRuns"] == 5


async def test_it_wakes_by_itself_only_where_the_settings_say_so() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    heartbeat = paperclip.agents[0]["runtimeConfig"]["heartbeat"]
    assert heartbeat == {"enabled": False, "maxConcurrentRuns": 2}
    await run(paperclip, after(found), background=True)
    heartbeat = paperclip.agents[0]["runtimeConfig"]["heartbeat"]
    assert heartbeat == {"enabled": True, "intervalSec": 3600, "maxConcurrentRuns": 2}
    await run(paperclip, after(found))
    assert paperclip.agents[0]["runtimeConfig"]["heartbeat"]["enabled"] is False


async def test_an_agent_that_was_deleted_comes_anew() -> None:
    paperclip = FakePaperclip()
    found = await run(paperclip)
    paperclip.agents.clear()
    again = await run(paperclip, after(found))
    assert again["agent"] == paperclip.agents[0]["id"] != found["agent"]


async def test_the_client_keeps_no_cookie_for_the_next_agent_at_this_address() -> None:
    paperclip = FakePaperclip()
    async with paperclip.client() as client:
        await set_up(client, BLANK, "My agent", SETTINGS)
        assert not client.cookies
