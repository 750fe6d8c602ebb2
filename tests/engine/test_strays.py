"""B5: the database was restored from yesterday's copy; on the real engine, disks and store."""

import os
import subprocess
from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent, Condition, Release
from controlplane.audit.models import AuditEvent
from controlplane.jobs.claim import claim
from controlplane.snapshots.models import Snapshot
from provisioner import guard, memory, names, pool, reach, rounds, watch
from provisioner.conditions import CURRENT
from provisioner.crew import Crew
from provisioner.models import Address, Stray
from provisioner.networks import find
from provisioner.offsite import place
from provisioner.reconcile import load, reconcile
from provisioner.snapshots import keeping, manifest, scratch, take
from provisioner.snapshots.difference import difference
from provisioner.strays import reaping, recording
from provisioner.strays.adopting import adopt
from tests.engine.box import TOKEN, Box
from tests.engine.conftest import ADDRESS, INSTALLATION, MODEL_PORT, wait_for
from tests.engine.mortal_work import killed_at
from tests.engine.yesterday import Copy
from tests.provisioner.strays.conftest import OSCAR, forget

STARTS = {"boots"}  # what the tiny runtime writes whenever it starts


@pytest.fixture(autouse=True)
def clean(node, backend):
    """Strays have no row, so nothing else would take them away."""
    yield
    for container in node.engine.containers(names.mine(INSTALLATION)):
        node.engine.ensure_removed(container.name)
    for agent in {*node.workspaces.known(), *node.workspaces.clones.owners()}:
        node.keys.withdraw(agent)
        node.workspaces.destroy(agent)
    for network in node.engine.networks(names.mine(INSTALLATION)):
        node.engine.ensure_network_removed(network)


@pytest.fixture
def born(as_alice, tiny, vault, go):
    def make(name: str = "scout") -> Agent:
        agent = actions.create_agent(
            as_alice, name=name, runtime="hermes", disk_gib=1, egress="open"
        )
        Release.objects.filter(agent=agent).update(image=tiny)
        vault.write(f"agents/{agent.pk}", {"gateway": TOKEN})
        agent = go(agent)
        assert agent.status == "running", (agent.status, agent.message)
        return agent

    return make


@pytest.fixture
def data(backend):
    """Something of every kind in its workspace; returns what there is."""

    def fill(agent: Agent) -> manifest.Manifest:
        found = backend.workspaces.points / agent.pk / "data"
        for number in range(50):
            (found / f"note {number}").write_text(f"one {number}" * 100)
        os.link(found / "note 1", found / "same")
        os.setxattr(found / "note 1", "user.mood", b"calm")
        return listing(backend, agent)

    return fill


def listing(backend, agent) -> manifest.Manifest:
    found = manifest.of(backend.workspaces.points / agent.pk / "data")
    return manifest.Manifest(tuple(one for one in found.entries if one.path not in STARTS))


def everything_runs(backend) -> None:
    """All that a node does by itself, once."""
    crew = Crew(backend)
    rounds.sweep(crew)
    watch.compare(backend, crew)
    rounds.Rounds(backend, crew).ask()
    for container in backend.engine.containers(names.mine(INSTALLATION)):
        crew.nudge(container.agent_id, insist=True)  # as after an event
    crew.stop()
    rounds.keep_house(backend)
    pool.note(backend)
    rounds.forget_old()
    keeping.plan_all()
    keeping.take_due()
    keeping.expire()
    keeping.remove_forgotten(backend)
    backend.workspaces.clones.thaw_forgotten()
    scratch.clear(backend)
    recording.note(backend)
    reaping.carry_out(backend)


def on_the_node(backend) -> dict[str, object]:
    listed = backend.engine.containers(names.mine(INSTALLATION))
    clones = backend.workspaces.clones
    return {
        "lives": {one.name: backend.engine.inspect(one.name).life for one in listed},
        "disks": sorted(backend.workspaces.known()),
        "copies": {agent: clones.known(agent) for agent in clones.owners()},
        "networks": sorted(backend.engine.networks(names.mine(INSTALLATION))),
        "keys": backend.keys.known(),
        "vault": sorted(backend.vault.values),
    }


def test_what_no_row_speaks_of_stays_is_shown_and_cut_off(backend, born, data, go, as_alice):
    known, lost, stopped = born("known"), born("lost"), born("stopped")
    before_files = data(lost)
    backend.workspaces.clones.take(lost.pk, "snp_newer")
    go(actions.stop_agent(as_alice, stopped))
    placed = find(lost)
    box = Box(backend, lost.pk, placed.network, placed.address)
    assert box.connect((ADDRESS, MODEL_PORT))[0].result == "open"
    before = on_the_node(backend)

    forget(lost)
    forget(stopped)
    everything_runs(backend)
    everything_runs(backend)

    assert on_the_node(backend) == before
    assert difference(before_files, listing(backend, lost)).nothing
    shown = set(Stray.objects.open().values_list("agent", "kind"))
    assert {(lost.pk, kind) for kind in ("container", "disk", "keys", "vault")} <= shown
    assert {(stopped.pk, kind) for kind in ("container", "disk", "vault")} <= shown
    assert known.pk not in {agent for agent, _ in shown}
    assert box.connect((ADDRESS, MODEL_PORT))[0].result == "refused"
    assert box.connect((ADDRESS, 53))[0].result == "refused"
    # Also after the rules were made anew, and for nobody else.
    reach.refresh()
    assert box.connect((ADDRESS, MODEL_PORT))[0].result == "refused"
    there = find(known)
    other = Box(backend, known.pk, there.network, there.address)
    assert other.connect((ADDRESS, MODEL_PORT))[0].result == "open"


def test_a_connection_that_an_unknown_container_has_is_ended_too(backend, born):
    agent = born()
    placed = find(agent)
    box = Box(backend, agent.pk, placed.network, placed.address)
    talk = (
        "import socket,time\n"
        f"s=socket.create_connection(('{ADDRESS}',{MODEL_PORT}),3)\n"
        "open('/workspace/up','w').close()\n"
        "while not __import__('os').path.exists('/workspace/go'): time.sleep(0.05)\n"
        "s.settimeout(3)\n"
        "try:\n"
        "    s.send(b'GET /health HTTP/1.0\\r\\n\\r\\n'); print('got', len(s.recv(100)))\n"
        "except OSError as e: print('no', type(e).__name__)\n"
    )
    workspace = backend.workspaces.points / agent.pk / "data"
    argv = ["docker", "exec", box.name, "/usr/bin/python3", "-I", "-S", "-c", talk]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: (workspace / "up").exists(), 15)
        forget(agent)
        recording.note(backend)
        (workspace / "go").touch()
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()

    assert said.startswith("no "), said


def test_adopted_it_starts_with_its_workspace_as_it_was(backend, born, data, go, as_alice, tiny):
    agent = born()
    before = data(agent)
    forget(agent)
    everything_runs(backend)
    assert Stray.objects.get(kind="container").organisation == as_alice.organisation.pk

    adopted = adopt(OSCAR, agent.pk, name="back", runtime="hermes")
    Release.objects.filter(agent=adopted).update(image=tiny)
    adopted = go(adopted)
    assert (adopted.status, adopted.workspace_made_at is not None) == ("stopped", True)
    actions.start_agent(as_alice, adopted)
    adopted = go(adopted)

    assert (adopted.status, adopted.message) == ("running", "")
    assert difference(before, listing(backend, adopted)).nothing
    placed = find(adopted)
    assert guard.list_of(INSTALLATION, (placed.network.bridge, placed.address)) is None
    recording.note(backend)
    assert not Stray.objects.open().filter(agent=adopted.pk).exists()
    assert reach.strangers() == set()


def test_beside_a_stray_new_agents_get_addresses_of_their_own(backend, born):
    lost, stays = born("lost"), born("stays")
    where = find(lost).address
    forget(lost)
    recording.note(backend)

    fresh = born("fresh")

    assert fresh.address not in {where, stays.address}
    assert Address.objects.count() == 2


def test_a_release_that_the_row_does_not_know_runs_on(backend, born, data, go, as_alice, tiny):
    agent = born()
    before = data(agent)
    actions.update_agent(as_alice, agent, size="large")
    Release.objects.filter(agent=agent).update(image=tiny)
    agent = go(agent)
    assert agent.observed_release == 2
    lives = on_the_node(backend)
    first = Release.objects.get(agent=agent, number=1)
    Agent.objects.update(release=first, observed_release=1)
    Release.objects.filter(agent=agent, number=2).delete()

    everything_runs(backend)
    agent = go(load(agent.pk))

    assert on_the_node(backend) == lives
    assert agent.conditions.get(type="RowIsCurrent").reason == "release_unknown"
    agent = go(actions.restart_agent(as_alice, agent))
    assert (agent.status, agent.observed_release) == ("running", 1)
    assert difference(before, listing(backend, agent)).nothing


@pytest.mark.parametrize("grace", ["left", "over"])
def test_one_whose_row_says_deleted_keeps_container_and_disk(
    backend, born, data, go, as_alice, grace
):
    agent = born()
    before = data(agent)
    purge_at = now() + timedelta(days=6 if grace == "left" else -1)
    deleted = {"goal": "deleted", "status": "deleted", "purge_at": purge_at, "due_at": now()}
    deleted |= {"status_since": now() - timedelta(days=1), "deleted_at": now() - timedelta(days=1)}
    Agent.objects.update(**deleted)
    there = on_the_node(backend)

    everything_runs(backend)
    agent = go(load(agent.pk))

    assert on_the_node(backend) == there
    assert difference(before, listing(backend, agent)).nothing
    assert agent.purge_at > now()
    agent = go(actions.restore_agent(as_alice, agent))
    agent = go(actions.start_agent(as_alice, agent))
    assert agent.status == "running"
    assert difference(before, listing(backend, agent)).nothing


@pytest.fixture
def yesterday(backend):
    copies: list[Copy] = []

    def take() -> Copy:
        copies.append(Copy())
        return copies[-1]

    yield take
    for copy in copies:
        copy.forget()


def test_the_whole_database_is_yesterdays(backend, born, data, go, as_alice, tiny, yesterday):
    """B5, S9: all that happened since its copy was taken goes on, and nothing of it is lost."""
    steady, changed, idle, undone = (born(name) for name in ("steady", "changed", "idle", "undone"))
    go(actions.stop_agent(as_alice, idle))
    go(actions.delete_agent(as_alice, undone))
    long_ago = now() - timedelta(days=8)
    Agent.objects.filter(pk=undone.pk).update(status_since=long_ago, purge_at=now())
    memory.compare()
    copy = yesterday()

    memory.compare()
    fresh = born("fresh")
    go(actions.restart_agent(as_alice, steady))
    actions.update_agent(as_alice, changed, size="large")
    Release.objects.filter(agent=changed).update(image=tiny)
    go(changed)
    go(actions.start_agent(as_alice, load(idle.pk)))
    Agent.objects.filter(pk=undone.pk).update(purge_at=None)
    go(actions.restore_agent(as_alice, load(undone.pk)))
    go(actions.start_agent(as_alice, load(undone.pk)))
    agents = [steady, changed, idle, undone, fresh]
    assert {load(agent.pk).status for agent in agents} == {"running"}
    files = {agent.pk: data(agent) for agent in agents}
    before = on_the_node(backend)

    copy.put_back()
    assert memory.compare() is True
    for _ in range(2):
        everything_runs(backend)
    for agent in agents[:4]:
        go(agent)

    assert on_the_node(backend) == before
    for agent in agents:
        assert difference(files[agent.pk], listing(backend, agent)).nothing
    doubted = dict(
        Condition.objects.filter(type=CURRENT, status=False).values_list("agent", "reason")
    )
    assert doubted == {
        changed.pk: "release_unknown",
        idle.pk: "database_restored",
        undone.pk: "row_says_deleted",
    }
    assert load(undone.pk).purge_at > now()
    assert set(Stray.objects.open().exclude(agent="").values_list("agent", flat=True)) == {fresh.pk}

    adopted = adopt(OSCAR, fresh.pk, name="fresh", runtime="hermes")
    Release.objects.filter(agent=adopted).update(image=tiny)
    assert go(adopted).status == "stopped"
    assert go(actions.start_agent(as_alice, load(fresh.pk))).status == "running"
    assert go(actions.restart_agent(as_alice, load(changed.pk))).status == "running"
    go(actions.restore_agent(as_alice, load(undone.pk)))
    assert go(actions.start_agent(as_alice, load(undone.pk))).status == "running"
    assert load(idle.pk).goal == "stopped"
    assert memory.trust(OSCAR, idle.node)
    assert go(idle).status == "stopped"
    go(actions.start_agent(as_alice, load(idle.pk)))
    for agent in agents:
        assert difference(files[agent.pk], listing(backend, agent)).nothing
    recording.note(backend)
    assert not Stray.objects.open().exclude(kind="network").exists()


def aged() -> None:
    Stray.objects.update(first_seen_at=now() - timedelta(days=8))


def foreign_container(backend, tiny) -> str:
    """Another installation's, with an agent's label and name like ours."""
    api, name = backend.engine._api, "roost-agt_foreignforeignfo"
    labels = {names.INSTALLATION: "another", names.AGENT: "agt_foreignforeignfo"}
    made = api.create_container(tiny, name=name, labels=labels, entrypoint=["sleep", "600"])
    api.start(made["Id"])
    return name


def test_reaped_by_a_plan_and_nothing_else(backend, born, settings, tiny):
    lost, known = born("lost"), born("known")
    backend.workspaces.clones.take(lost.pk, "snp_a")
    foreign = foreign_container(backend, tiny)
    try:
        forget(lost)
        recording.note(backend)
        assert reaping.candidates() == []  # too young
        aged()
        settings.ROOST_REAP_AT_ONCE = 3
        before = on_the_node(backend)

        made = reaping.plan(OSCAR)

        assert [item["kind"] for item in made.items] == ["container", "keys", "disk"]
        assert reaping.carry_out(backend) == 0
        assert on_the_node(backend) == before
        reaping.agree(OSCAR, made.pk)
        assert reaping.carry_out(backend) == 3

        there = on_the_node(backend)
        assert list(there["lives"]) == [names.container(known.pk)]
        assert there["disks"] == [known.pk]
        assert there["copies"] == {}
        assert there["keys"] == [known.pk]
        assert f"agents/{lost.pk}" in there["vault"]  # beyond the cap
        assert not list(backend.workspaces.pool.rglob(f"*{lost.pk}*"))
        assert load(known.pk).status == "running"
        assert backend.engine.inspect(foreign).state == "running"
        assert not Stray.objects.filter(agent="agt_foreignforeignfo").exists()
        assert AuditEvent.objects.filter(action="stray.removed").count() == 3
    finally:
        backend.engine.ensure_removed(foreign)


@pytest.mark.parametrize("moment", ["remove", "_record"])
def test_a_reaper_that_is_killed_goes_on(backend, born, services, settings, state, vault, moment):
    lost = born()
    forget(lost)
    recording.note(backend)
    aged()
    reaping.agree(OSCAR, reaping.plan(OSCAR).pk)

    killed_at(state, services, settings, vault, "reap", f"provisioner.strays.reaping:{moment}")
    assert not Stray.objects.filter(state="removed").exists()
    assert reaping.carry_out(backend) == 5

    there = on_the_node(backend)
    assert (there["lives"], there["disks"], there["keys"]) == ({}, [], [])
    assert there["networks"] == []
    assert AuditEvent.objects.filter(action="stray.removed").count() == 5


def test_after_a_purge_nothing_is_there_and_the_receipt_says_what_was(
    keyed, born, as_alice, settings, store, tiny
):
    """With the real vault and the real store."""
    for name, value in store.items():
        setattr(settings, name, value)
    place.bucket().ensure()
    agent = actions.create_agent(as_alice, name="real", runtime="hermes", disk_gib=1)
    Release.objects.filter(agent=agent).update(image=tiny)
    # The runtime answers to a token of its vault entry, whichever it is.
    reconcile(agent.pk, keyed)
    agent = load(agent.pk)
    assert agent.status == "running", agent.message
    assert agent.pk in keyed.vault.names("agents")
    snapshot = Snapshot.objects.create(agent=agent, requested_by="a", release=1, disk_gib=1)
    take.run(claim(Snapshot, agent.node, snapshot.pk), keyed)
    snapshot.refresh_from_db()
    assert (snapshot.status, snapshot.message) == ("done", "")
    where = place.prefix(agent.organisation_id, agent.pk)
    assert place.bucket().size_of(where) > 0

    actions.delete_agent(as_alice, agent)
    reconcile(agent.pk, keyed)
    Agent.objects.filter(pk=agent.pk).update(purge_at=now())
    reconcile(agent.pk, keyed)

    assert not Agent.objects.filter(pk=agent.pk).exists()
    assert not Snapshot.objects.exists()
    assert not Address.objects.exists()
    assert not list(keyed.workspaces.pool.rglob(f"*{agent.pk}*"))
    assert not (keyed.workspaces.points / agent.pk).exists()
    assert keyed.engine.inspect(names.container(agent.pk)) is None
    assert keyed.engine.networks(names.mine(INSTALLATION)) == []
    assert place.bucket()._versions(f"{where}/") == []
    assert not place.bucket().holds(where)
    assert agent.pk not in keyed.vault.names("agents")
    recording.note(keyed)
    assert not Stray.objects.filter(agent=agent.pk).exists()
    told = AuditEvent.objects.get(action="agent.purged").data
    assert told["offsite"]["objects"] > 0
    assert told["workspace"]["bytes"] > 0
    assert told["workspace"]["copies"] == 1
    assert told["snapshots"] == {"count": 1, "bytes": snapshot.bytes}
    assert told["vault"] == [f"agents/{agent.pk}"]
