"""Finding what no row speaks of, and leaving it as it is."""

import pytest

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.snapshots.models import Snapshot
from provisioner import names, networks, reach
from provisioner.engines.base import NetworkSpec
from provisioner.models import Stray
from provisioner.offsite import place
from provisioner.reconcile import reconcile
from provisioner.strays import deciding, recording
from provisioner.strays.models import HERE, SHARED, Kind
from provisioner.workspaces.base import WorkspaceTrouble
from tests.provisioner.strays.conftest import OSCAR, forget

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(**filters) -> set[str]:
    return set(Stray.objects.open().filter(**filters).values_list("kind", flat=True))


def test_where_rows_speak_of_all_there_are_none(running, look):
    assert look() == 0
    assert not Stray.objects.exists()


def test_all_of_a_lost_agent_is_found_and_goes_on(lost, look, engine, backend, acme):
    """B5, S9"""
    look()
    look()

    assert kinds(agent=lost) == {"container", "disk", "keys", "vault"}
    container = Stray.objects.get(kind="container")
    assert (container.identity, container.organisation) == (engine.kept[container.name].id, acme.pk)
    assert container.spec["release"] == 1
    assert container.spec["image"].startswith("roost/hermes:")
    assert engine.kept[container.name].state == "running"
    assert backend.workspaces.known() == [lost]


def test_its_organisation_is_known_by_the_audit_log_too(lost, look, engine, acme):
    engine.lose(names.container(lost))
    look()

    assert Stray.objects.get(kind="disk").organisation == acme.pk


def test_a_nudge_for_it_does_nothing(lost, engine, backend):
    before = dict(engine.kept)

    assert reconcile(lost, backend) is False

    assert engine.kept == before


def test_a_network_without_a_row_is_found(lost, look, settings):
    look()

    assert Stray.objects.get(kind="network").name == names.network(settings.ROOST_INSTALLATION, 0)


def test_what_is_another_installations_is_not_seen(engine, look, db):
    theirs = {names.INSTALLATION: "another"}
    engine.ensure_network(NetworkSpec("net", "br", "10.1.0.0/28", "10.1.0.1", theirs))

    assert look() == 0


def test_copies_that_no_snapshot_speaks_of(running, look, backend):
    clones = backend.workspaces.clones
    known = Snapshot.objects.create(agent=running, requested_by="a", release=1, disk_gib=1)
    newer = ids.snapshot_id()
    for clone in (known.pk, newer, f"{newer}.before-fix", ids.drill_id()):
        clones.take(running.pk, clone)
    look()

    assert [one.identity for one in Stray.objects.open()] == [f"{running.pk}/{newer}"]


def test_copies_of_a_workspace_that_is_gone(lost, look, backend):
    backend.workspaces.clones.take(lost, "snp_a")
    backend.workspaces.disks.discard(lost)
    look()

    assert kinds(agent=lost) == {"container", "copies", "keys", "vault"}


def test_what_lies_offsite_without_an_agent(running, look, monkeypatch, acme):
    monkeypatch.setattr(place, "why_not", lambda: None)
    theirs, unknown, empty = ids.organisation_id(), ids.agent_id(), ids.agent_id()
    kept = [(acme.pk, running.pk), (theirs, unknown), (theirs, empty)]
    monkeypatch.setattr(place, "kept", lambda: kept)

    class Bucket:
        def holds(self, prefix: str) -> bool:
            return not prefix.endswith(empty)

        def size_of(self, prefix: str) -> int:
            return 7

    monkeypatch.setattr(place, "bucket", Bucket)
    look()

    found = Stray.objects.get(kind="offsite")
    assert (found.identity, found.organisation, found.bytes, found.node) == (
        f"{theirs}/{unknown}", theirs, 7, "",
    )  # fmt: skip


def test_an_odd_name_is_no_stray_and_hides_none(lost, look, engine, backend, vault):
    odd = f"{lost}.before-fix"
    backend.workspaces.disks.add(odd)
    backend.workspaces.clones.take(odd, ids.snapshot_id())
    vault.values[f"agents/{odd}"] = {}
    backend.keys.delivered[odd] = backend.keys.delivered[lost]
    look()

    assert set(Stray.objects.values_list("agent", flat=True)) == {lost, ""}
    assert kinds(agent="") == {"network"}
    assert kinds(agent=lost) == {"container", "disk", "keys", "vault"}


def test_labels_that_are_no_ids_tell_nothing_of_a_container(lost, look, engine):
    name = names.container(lost)
    engine._set(engine.kept[name], agent_id="a" * 40, organisation_id="b" * 40)
    look()

    container = Stray.objects.get(kind="container")
    assert (container.name, container.agent, container.organisation) == (name, "", "")


def test_one_that_cannot_be_written_down_hides_none(lost, look, engine, settings, acme):
    mine = names.mine(settings.ROOST_INSTALLATION)
    engine.ensure_network(NetworkSpec("n" * 300, "br", "10.1.0.0/28", "10.1.0.1", mine))
    engine.ensure_network(NetworkSpec("by-hand", "br", "10.2.0.0/28", "10.2.0.1", mine))
    look()

    assert kinds(agent=lost) == {"container", "disk", "keys", "vault"}
    assert Stray.objects.filter(kind="network", name="by-hand").exists()
    other = Agent.objects.create(organisation=acme, name="new", runtime="hermes", node="node-1")
    assert networks.place(other)


def test_a_store_that_is_not_asked_is_not_taken_for_empty(look, settings, db):
    settings.S3_ENDPOINT_URL = ""
    offsite = f"{ids.organisation_id()}/{ids.agent_id()}"
    Stray.objects.create(kind=Kind.OFFSITE, identity=offsite, name=offsite)
    look()

    assert kinds() == {"offsite"}


def test_a_pool_that_is_not_mounted_is_not_taken_for_empty(lost, look, backend, monkeypatch):
    clones, gone = backend.workspaces.clones, ids.agent_id()
    clones.kept[gone] = [ids.snapshot_id()]
    look()
    copy = f"{gone}/{ids.snapshot_id()}"
    Stray.objects.create(node="node-1", kind=Kind.COPY, identity=copy, name="copy")

    def away():
        raise WorkspaceTrouble("not mounted")

    monkeypatch.setattr(backend.workspaces, "known", away)
    clones.kept.clear()
    look()

    assert {"disk", "copies", "copy"} <= kinds()


def test_what_is_to_be_left_alone_still_is_when_it_comes_back(lost, look, vault):
    look()
    stray = Stray.objects.get(kind=Kind.VAULT)
    deciding.ignore(OSCAR, stray.pk)
    for state in ("ignored", "found"):
        if state == "found":
            deciding.heed(OSCAR, stray.pk)
        values = vault.values.pop(f"agents/{lost}")
        look()
        assert Stray.objects.get(pk=stray.pk).state == "gone"
        vault.values[f"agents/{lost}"] = values
        look()

        assert Stray.objects.get(pk=stray.pk).state == state


def test_what_is_shared_is_looked_at_apart(lost, backend, vault):
    recording.note(backend, HERE)
    assert kinds() == {"container", "disk", "keys", "network"}
    recording.note(backend, SHARED)
    assert kinds() == {"container", "disk", "keys", "network", "vault"}

    vault.values.clear()
    backend.workspaces.disks.clear()
    recording.note(backend, HERE)
    assert kinds() == {"container", "keys", "network", "vault"}


def test_a_part_that_is_away_is_not_taken_for_empty(lost, look, engine, vault):
    look()
    before = kinds()
    engine.silent, vault.sealed = True, True
    look()

    assert kinds() == before


def test_what_is_gone_by_itself_is_no_stray_any_more(lost, look, engine):
    look()
    engine.lose(names.container(lost))
    look()

    gone = Stray.objects.get(kind="container")
    assert (gone.state, gone.ended_at is not None) == ("gone", True)


def test_what_comes_back_is_a_stray_from_then_on(lost, look, vault, aged):
    look()
    aged()
    values = vault.values.pop(f"agents/{lost}")
    look()
    vault.values[f"agents/{lost}"] = values
    look()

    again = Stray.objects.get(kind=Kind.VAULT)
    assert (again.state, again.ended_at) == ("found", None)
    assert (again.last_seen_at - again.first_seen_at).total_seconds() < 60


def test_an_address_that_a_stray_has_is_given_to_nobody(lost, look, acme):
    look()
    other = Agent.objects.create(organisation=acme, name="new", runtime="hermes", node="node-1")

    placed = networks.place(other)

    # Another organisation's containers may be on the network of a block without a row.
    assert placed.network.name != Stray.objects.get(kind="network").name
    assert placed.address != Stray.objects.get(kind="container").address


@pytest.mark.parametrize("state", ["exited", "restarting"])
def test_one_that_is_down_keeps_its_address_and_is_cut_off_once_it_is_up(
    running, look, engine, acme, state
):
    other = Agent.objects.create(organisation=acme, name="b", runtime="hermes", node=running.node)
    networks.place(other)
    name = names.container(running.pk)
    fixed = engine.kept[name].address
    forget(running)
    engine._set(engine.kept[name], state=state, address=None, fixed_address=fixed)
    look()

    third = Agent.objects.create(organisation=acme, name="c", runtime="hermes", node=running.node)
    assert networks.place(third).address.endswith(".4")
    assert {address for _, address in reach.strangers()} == {fixed}


def test_one_that_is_down_does_not_cut_off_who_has_its_address(running, look, engine, acme):
    name = names.container(running.pk)
    fixed = engine.kept[name].address
    forget(running)
    other = Agent.objects.create(organisation=acme, name="b", runtime="hermes", node=running.node)
    assert networks.place(other).address == fixed
    engine._set(engine.kept[name], state="exited", address=None, fixed_address=fixed)
    look()

    assert Stray.objects.get(kind="container").address == fixed
    assert reach.strangers() == set()
    engine._set(engine.kept[name], state="running", address=fixed)
    look()
    assert {address for _, address in reach.strangers()} == {fixed}


def test_those_of_other_nodes_keep_their_addresses_and_are_theirs_to_cut_off(lost, look):
    look()
    assert len(reach.strangers()) == 1
    Stray.objects.filter(kind="container").update(node="another")

    assert reach.strangers() == set()
    assert networks.strangers().count() == 1


def test_in_a_block_that_is_known_a_strays_host_is_passed_over(running, go, look, as_alice, acme):
    other = Agent.objects.create(
        organisation=acme, name="b", runtime="hermes", node=running.node, release=None
    )
    assert networks.place(other).address.endswith(".3")
    forget(running)
    look()
    third = Agent.objects.create(organisation=acme, name="c", runtime="hermes", node=running.node)

    assert networks.place(third).address.endswith(".4")


def test_a_network_with_a_stray_on_it_outlives_its_last_agent(running, look, acme):
    other = Agent.objects.create(organisation=acme, name="b", runtime="hermes", node=running.node)
    networks.place(other)
    forget(running)
    assert networks.leaves_alone(other) is not None
    look()

    assert networks.leaves_alone(other) is None
