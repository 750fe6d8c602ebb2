"""Conditions tell each part of an agent's state, and since when it is so."""

import pytest

from controlplane.agents.lifecycle import Status
from provisioner.conditions import ENGINE, IMAGE, KEYS, READY, TYPES, WORKSPACE, conditions_of


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        (Status.RUNNING, "", dict.fromkeys(TYPES, True)),
        (Status.STARTING, "", {READY: False, ENGINE: True}),
        (Status.STOPPED, "", {READY: False, ENGINE: True, WORKSPACE: False, KEYS: False}),
        (Status.WAITING, "vault_unavailable", {READY: False, ENGINE: True, KEYS: False}),
        (Status.WAITING, "image_missing", {READY: False, ENGINE: True, IMAGE: False}),
        (Status.UNKNOWN, "engine_silent", {READY: None, ENGINE: False}),
    ],
)
def test_what_a_status_tells(status, reason, expected):
    assert conditions_of(status, reason) == expected


@pytest.mark.django_db(transaction=True)
def test_a_condition_keeps_its_time_while_it_does_not_change(running, go, vault, as_alice):
    from controlplane.agents.actions import restart_agent

    mounted = running.conditions.get(type=WORKSPACE)
    vault.sealed = True
    restart_agent(as_alice, running)

    running = go(running)

    assert running.conditions.get(type=KEYS).status is False
    assert running.conditions.get(type=READY).reason == "vault_unavailable"
    assert running.conditions.get(type=WORKSPACE).since == mounted.since
