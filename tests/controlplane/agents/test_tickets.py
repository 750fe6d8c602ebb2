"""Tickets for the gateway: one caller, one agent, one verb, one minute."""

from datetime import timedelta

import pytest
from django.core import signing
from django.utils.timezone import now

from controlplane.agents import tickets
from controlplane.agents.tickets import BadTicket
from controlplane.errors import Forbidden
from controlplane.tenants.access import of_token
from controlplane.tenants.actions import issue_token, revoke_token
from controlplane.tenants.models import ApiToken, Membership, Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def by_token(as_alice):
    token, _ = issue_token(as_alice, name="ci")
    return of_token(token, as_alice.organisation.pk)


def test_a_ticket_says_who_may_do_what(as_alice, agent):
    ticket = tickets.read(tickets.issue(as_alice, agent.pk, "chat"), agent.pk, "chat")

    assert (ticket.agent, ticket.verb, ticket.token) == (agent.pk, "chat", "")
    assert (ticket.organisation, ticket.user) == (as_alice.organisation.pk, as_alice.user.pk)


def test_a_tokens_ticket_names_the_token(by_token, agent):
    ticket = tickets.read(tickets.issue(by_token, agent.pk, "logs"), agent.pk, "logs")

    assert ticket.token == by_token.actor.id


@pytest.mark.parametrize(("agent_id", "verb"), [("agt_other", "logs"), (None, "chat"), (None, "")])
def test_it_is_good_for_nothing_else(as_alice, agent, agent_id, verb):
    text = tickets.issue(as_alice, agent.pk, "logs")

    with pytest.raises(BadTicket):
        tickets.read(text, agent_id or agent.pk, verb)


@pytest.mark.parametrize("text", ["", "a", "a:b:c", "\x00", "é" * 100, "." * 9999])
def test_what_we_did_not_sign_is_bad(agent, text):
    with pytest.raises(BadTicket):
        tickets.read(text, agent.pk, "logs")


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_changed_ticket_is_bad(as_alice, agent, at):
    text = tickets.issue(as_alice, agent.pk, "logs")
    letter = "A" if text[at] != "A" else "B"
    changed = text[:at] + letter + text[at:][1:] if at >= 0 else text[:-1] + letter

    with pytest.raises(BadTicket):
        tickets.read(changed, agent.pk, "logs")


@pytest.mark.parametrize("made_with", [{"key": "other"}, {"salt": "roost.other"}])
def test_another_signature_of_ours_is_no_ticket(settings, agent, made_with):
    good = {"key": settings.GATEWAY_SECRET, "salt": tickets.SALT}
    body = {"agent": agent.pk, "verb": "logs", "organisation": "", "user": 1, "token": ""}
    text = signing.dumps(body, **{**good, **made_with})

    with pytest.raises(BadTicket):
        tickets.read(text, agent.pk, "logs")


def test_a_ticket_ends_after_its_minute(as_alice, agent, monkeypatch):
    text = tickets.issue(as_alice, agent.pk, "logs")
    later = (now() + timedelta(seconds=tickets.MAX_AGE + 1)).timestamp()
    monkeypatch.setattr("time.time", lambda: later)

    with pytest.raises(BadTicket):
        tickets.read(text, agent.pk, "logs")


def test_a_viewer_gets_no_ticket_to_talk(as_bob, agent):
    assert tickets.issue(as_bob, agent.pk, "logs")
    with pytest.raises(Forbidden):
        tickets.issue(as_bob, agent.pk, "chat")


def test_a_token_without_the_scope_gets_none(as_alice, agent):
    token, _ = issue_token(as_alice, name="reader", scopes=["agents:read"])
    access = of_token(token, as_alice.organisation.pk)

    with pytest.raises(Forbidden):
        tickets.issue(access, agent.pk, "chat")


def let(access, agent, verb="chat"):
    return tickets.read(tickets.issue(access, agent.pk, verb), agent.pk, verb)


LOSSES = {
    "role lowered": lambda a: Membership.objects.filter(user=a.user).update(role=Role.VIEWER),
    "left": lambda a: Membership.objects.filter(user=a.user).delete(),
    "locked out": lambda a: type(a.user).objects.filter(pk=a.user.pk).update(is_active=False),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES.keys())
def test_who_lost_the_right_may_not_go_on(as_alice, by_token, agent, lose):
    for access in (as_alice, by_token):
        ticket = let(access, agent)
        assert tickets.still_allowed(ticket)
        assert access.still_may("agents:chat")
    lose(as_alice)

    assert not tickets.still_allowed(ticket)
    assert not tickets.still_allowed(let(as_alice, agent))
    assert not as_alice.still_may("agents:chat")
    assert not by_token.still_may("agents:chat")


def test_a_lowered_role_keeps_what_it_still_has(as_alice, agent):
    ticket = let(as_alice, agent, "logs")
    LOSSES["role lowered"](as_alice)

    assert tickets.still_allowed(ticket)


@pytest.mark.parametrize(
    "change", [{"expires_at": now()}, {"scopes": ["agents:read"]}, {"revoked_at": now()}]
)
def test_a_tokens_end_ends_its_tickets(by_token, agent, change):
    ticket = let(by_token, agent)
    ApiToken.objects.filter(pk=by_token.actor.id).update(**change)

    assert not tickets.still_allowed(ticket)
    assert not by_token.still_may("agents:chat")


def test_revoking_a_token_leaves_the_person(as_alice, by_token, agent):
    ticket = let(by_token, agent)
    revoke_token(as_alice, ApiToken.objects.get(pk=by_token.actor.id))

    assert not tickets.still_allowed(ticket)
    assert tickets.still_allowed(let(as_alice, agent))


def test_a_viewer_gets_no_ticket_to_the_web_ui(as_alice, as_bob, agent):
    assert tickets.issue(as_alice, agent.pk, "web")
    with pytest.raises(Forbidden):
        tickets.issue(as_bob, agent.pk, "web")


def test_two_tickets_are_never_the_same(as_alice, agent):
    assert tickets.issue(as_alice, agent.pk, "web") != tickets.issue(as_alice, agent.pk, "web")
