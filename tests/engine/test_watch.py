"""The whole node process beside a real engine, with the queue away: what happens behind our back is
noticed, healed and told, and wishes are found by the sweep alone."""

import contextlib
import gc
import threading
import time
from dataclasses import replace

import pytest
from django.db import connection

from controlplane.agents import actions
from controlplane.agents.models import Agent, Release
from provisioner import names, node, resolver
from provisioner.engines import docker as docker_engine
from provisioner.engines.docker import DockerEngine
from provisioner.models import Node
from provisioner.reconcile import load
from provisioner.workspaces.mounts import unmount
from tests.engine.conftest import INSTALLATION, wait_for
from tests.engine.killing import kill_main

SOON = 15  # seconds
LONG_AGO = "2020-01-01T00:00Z"


@pytest.fixture
def fast(backend, monkeypatch):
    for name, seconds in {"SWEEP": 0.3, "ASK": 1.0, "BEAT": 1.0, "COMPARE": 2.0}.items():
        monkeypatch.setattr(node, name, seconds)
    # The resolver of the test's own `backend` holds the port.
    monkeypatch.setattr(resolver, "serving", lambda *parts: contextlib.nullcontext())


def process(backend, stop):
    try:
        node.run(backend, stop)
    finally:
        connection.close()


@pytest.fixture
def run(backend, fast):
    """The node's process in a thread."""
    stop = threading.Event()
    mine = replace(backend, patience=5)
    thread = threading.Thread(target=process, args=(mine, stop), name="node")
    thread.start()
    yield mine
    stop.set()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def agent(as_alice, tiny, run) -> Agent:
    return born(as_alice, tiny, "scout")


def born(access, tiny, name) -> Agent:
    agent = actions.create_agent(access, name=name, runtime="hermes", disk_gib=1, egress="none")
    Release.objects.filter(agent=agent).update(image=tiny)
    becomes(agent, "running")
    return agent


def becomes(agent: Agent, status: str, seconds: float = SOON) -> Agent:
    """Settled in that status: the newest wish was seen."""

    def there() -> bool:
        row = load(agent.pk)
        return row.status == status and row.observed_generation == row.generation

    wait_for(there, seconds)
    return load(agent.pk)


def heals(agent: Agent, life: str) -> None:
    """It runs again, in another life."""

    def again() -> bool:
        row = load(agent.pk)
        return row.status == "running" and row.ready_life not in {"", life}

    wait_for(again, SOON)


def told(agent: Agent) -> list[str]:
    return [f"{event.kind}: {event.title}" for event in agent.events.order_by("id")]


def docker_kill(backend, name):
    backend.engine._api.kill(name)


def kill_9(backend, name):
    kill_main(backend.engine, name)


def docker_rm(backend, name):
    backend.engine._api.remove_container(name, force=True)


def docker_stop(backend, name):
    backend.engine._api.stop(name, timeout=10)


def pause(backend, name):
    backend.engine._api.pause(name)


def take_the_network(backend, name):
    (network,) = backend.engine.networks(names.mine(INSTALLATION))
    backend.engine._api.disconnect_container_from_network(name, network, force=True)
    backend.engine.ensure_network_removed(network)


def test_what_is_done_behind_our_back_is_healed_and_told(run, agent):
    """One after the other, to the same agent: one start of a node is dear."""
    name = names.container(agent.pk)
    for way, words in (
        # The engine brings it back by itself, at times before anybody has looked.
        (kill_9, ("killed (signal 9)", "up again before its reason could be read")),
        (docker_kill, ("killed (signal 9)",)),
        (docker_stop, ("exit code 0",)),
        (docker_rm, ("Coming up again",)),
        (take_the_network, ("Coming up again",)),
    ):
        agent.events.all().delete()
        Agent.objects.filter(pk=agent.pk).update(crashes=[])
        life = load(agent.pk).ready_life
        began = time.monotonic()

        way(run, name)

        heals(agent, life)
        took = time.monotonic() - began
        assert took < SOON, (way.__name__, took)
        lines = told(agent)
        assert any(word in line for line in lines for word in words), (way.__name__, lines)
    assert run.engine.inspect(name).up


def test_a_frozen_agent_is_thawed(run, agent):
    name = names.container(agent.pk)

    pause(run, name)

    wait_for(lambda: run.engine.inspect(name).state == "running", SOON)
    becomes(agent, "running")


def test_a_deaf_agent_is_degraded_and_comes_back(run, agent):
    deaf = run.workspaces.points / agent.pk / "data" / "deaf"
    deaf.touch()
    degraded = becomes(agent, "degraded", 30)
    assert degraded.reason == "not_answering"
    assert "does not answer" in degraded.message

    deaf.unlink()

    becomes(agent, "running", 30)


def test_keys_that_somebody_unmounted_are_brought_again(run, agent):
    """The container still has them; the gateway would not."""
    unmount(run.keys.root / agent.pk)

    wait_for(lambda: run.keys.find(agent.pk) is not None, SOON)
    becomes(agent, "running")


def test_wishes_are_found_with_the_queue_away(run, agent, as_alice):
    """Nobody listens to the queue here: what follows is the sweep's work alone."""
    actions.stop_agent(as_alice, agent)
    becomes(agent, "stopped")
    assert not run.engine.inspect(names.container(agent.pk)).up

    actions.start_agent(as_alice, agent)
    becomes(agent, "running")
    before = run.engine.inspect(names.container(agent.pk)).id

    actions.restart_agent(as_alice, agent)
    becomes(agent, "running")
    assert run.engine.inspect(names.container(agent.pk)).id != before

    actions.delete_agent(as_alice, agent)
    becomes(agent, "deleted")
    assert run.engine.inspect(names.container(agent.pk)) is None
    Agent.objects.filter(pk=agent.pk).update(purge_at=LONG_AGO, due_at=LONG_AGO)
    wait_for(lambda: not Agent.objects.filter(pk=agent.pk).exists(), SOON)
    assert agent.pk not in run.workspaces.known()


def test_the_node_says_that_it_lives(run):
    wait_for(lambda: Node.objects.filter(engine_silent_since=None).exists(), SOON)
    first = Node.objects.get()
    assert first.engine == run.engine.ping()
    assert first.weaknesses == []

    wait_for(lambda: Node.objects.get().heartbeat_at > first.heartbeat_at, SOON)


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_an_engine_that_hangs_is_told_and_nothing_is_called_gone(
    backend, fast, as_alice, tiny, hanging_engine, monkeypatch
):
    """The node is marked, its agents are `unknown`, and all come back by themselves."""
    monkeypatch.setattr(docker_engine, "TIMEOUT", 1)
    agent = actions.create_agent(
        as_alice, name="scout", runtime="hermes", disk_gib=1, egress="none"
    )
    Agent.objects.filter(pk=agent.pk).update(
        status="running", observed_generation=agent.generation, life="x y 0", ready_life="x y 0"
    )
    silent = replace(backend, engine=DockerEngine(), patience=0)
    stop = threading.Event()
    thread = threading.Thread(target=process, args=(silent, stop), name="node")
    thread.start()
    try:
        wait_for(lambda: load(agent.pk).status == "unknown", SOON)
        unknown = load(agent.pk)
        assert unknown.reason == "engine_silent"
        assert "most likely it goes on" in unknown.message
        wait_for(lambda: Node.objects.exclude(engine_silent_since=None).exists(), SOON)
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    gc.collect()
