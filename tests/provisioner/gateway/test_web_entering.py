"""Coming in to an agent's web UI: a ticket once, then a cookie of that host alone."""

import asyncio

import pytest

from controlplane.agents import tickets
from provisioner.gateway.web import sessions
from tests.provisioner.gateway.web_rig import Rig

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = {"Sec-Fetch-Mode": "navigate"}


def enter(rig: Rig, **more):
    async def ask():
        async with rig.open() as web:
            return await web.enter(**more)

    return asyncio.run(ask())


def after(rig: Rig, cookie: str, path: str = "/hello", **headers):
    """The answer to who brings this cookie."""

    async def ask():
        async with rig.open() as web:
            web.cookie = cookie
            return await web.get(path, **headers)

    return asyncio.run(ask())


def test_a_ticket_becomes_a_cookie_of_this_host_alone(rig):
    answer = enter(rig)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name.startswith("roost_agent=")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=lax"]


def test_with_tls_no_other_host_can_set_it(rig, settings):
    settings.ROOST_AGENTS_SCHEME = "https"

    name, *attributes = enter(rig).headers["set-cookie"].split("; ")

    assert name.startswith("__Host-roost_agent=")
    assert "Secure" in attributes


def test_a_ticket_is_good_once(rig):
    async def twice():
        async with rig.open() as web:
            ticket = web.ticket()
            return [await web.enter(ticket), await web.enter(ticket)]

    first, second = asyncio.run(twice())
    assert (first.status_code, second.status_code) == (303, 403)
    assert "set-cookie" not in second.headers
    assert second.json()["code"] == "bad_ticket"


def test_two_tickets_of_the_same_second_are_good_both(rig):
    async def both():
        async with rig.open() as web:
            return [(await web.enter()).status_code for _ in range(2)]

    assert asyncio.run(both()) == [303, 303]


@pytest.mark.parametrize(("verb", "agent_id"), [("chat", ""), ("web", "agt_other")])
def test_another_ticket_does_not_let_in(rig, verb, agent_id):
    ticket = tickets.issue(rig.access, agent_id or rig.agent.pk, verb)

    assert enter(rig, ticket=ticket).status_code == 403


@pytest.mark.parametrize("ticket", ["", "x", "%00", "&ticket=1", "x" * 20_000])
def test_what_is_no_ticket_does_not_let_in(rig, ticket):
    assert enter(rig, ticket=ticket or "%20").status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example:8700",
        "https://127.0.0.1:8700",
        "http://[",
        "http://agt-x.localhost:8702",
    ],
)
def test_only_the_dashboard_lets_people_in(rig, origin):
    answer = enter(rig, origin=origin)

    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


def test_an_agents_page_lets_nobody_in_where_the_dashboards_hosts_are_a_wildcard(rig, settings):
    settings.ALLOWED_HOSTS = [".localhost", "127.0.0.1"]

    answer = enter(rig, origin="http://agt-x.localhost:8702")

    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


def test_without_a_session_a_person_is_told_what_to_do(rig):
    answer = after(rig, "", **PAGE)

    assert answer.status_code == 401
    assert "You are not signed in here" in answer.text
    assert 'href="http://127.0.0.1:8700"' in answer.text
    assert "scout" not in answer.text
    assert rig.ui.seen == []


def test_without_a_session_a_program_is_told_in_json(rig):
    answer = after(rig, "")

    assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in")


def test_the_page_that_tells_has_its_style(rig):
    answer = after(rig, "", "/.roost/page.css")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")


def test_looking_at_the_way_in_leads_to_the_door(rig):
    assert after(rig, "", "/.roost/enter").headers["location"] == "/"


def test_nothing_else_of_ours_is_there(rig):
    assert after(rig, "", "/.roost/other").status_code == 404


def test_a_session_of_another_agent_is_none(rig):
    cookie = enter(rig).headers["set-cookie"].partition(";")[0]
    rig.agent.pk = "agt_other"

    assert after(rig, cookie).status_code == 401


@pytest.mark.parametrize("cookie", ["roost_agent=x", "roost_agent=a:b:c", "roost_agent="])
def test_what_we_did_not_sign_is_no_session(rig, cookie):
    assert after(rig, cookie).status_code == 401


def test_a_ticket_is_no_session(rig):
    ticket = tickets.issue(rig.access, rig.agent.pk, "web")

    assert after(rig, f"roost_agent={ticket}").status_code == 401


def test_a_session_ends_after_half_a_day(rig, monkeypatch):
    cookie = enter(rig).headers["set-cookie"].partition(";")[0]
    monkeypatch.setattr(sessions, "MAX_AGE", -1)

    assert after(rig, cookie).status_code == 401


def test_agents_hosts_reach_nothing_of_the_gateways_own(rig):
    path = f"/gateway/agents/{rig.agent.pk}/messages"

    assert after(rig, "", "/gateway/health").json()["code"] == "not_signed_in"
    ticket = tickets.issue(rig.access, rig.agent.pk, "history")
    assert after(rig, "", path, **{"X-Roost-Ticket": ticket}).json()["code"] == "not_signed_in"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8702", "agt-x.localhost.evil.example"])
def test_other_hosts_reach_no_agent(rig, host):
    cookie = enter(rig).headers["set-cookie"].partition(";")[0]

    assert after(rig, cookie, "/gateway/health", Host=host).json() == {"status": "ok"}
    assert after(rig, cookie, "/hello", Host=host).status_code == 404
    assert rig.ui.seen == []


@pytest.mark.parametrize("host", ["x.localhost:8702", "a.agt-x.localhost", "agt-.localhost"])
def test_a_host_below_the_domain_that_is_no_agents_is_nobodys(rig, host):
    assert after(rig, "", "/gateway/health", Host=host).json()["code"] == "not_found"
