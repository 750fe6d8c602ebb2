"""Whoever chose a value learns from no scan whether others have it."""

import json
import logging

import pytest
import redis
from django.db import connection

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Event
from controlplane.audit.models import AuditEvent
from controlplane.scans.actions import start_scan
from controlplane.scans.models import OperatorReport, Scan, ScanKey
from controlplane.scans.signing import verify
from provisioner.scan import alarm
from provisioner.scan.places import OWN, SHARED, SPOTS
from provisioner.workspaces.base import Kept
from tests.provisioner.scan.conftest import KEY, found, found_for_operators, told_to_operators

pytestmark = pytest.mark.django_db(transaction=True)

FOLDERS = ["networks", "state/log", "state/run", "state/postgres", "state/valkey", "state/openbao"]
TIMES = {"started_at", "finished_at", "scan"}


def seen(scan: Scan) -> dict:
    """Everything of a scan that an organisation is shown, but for its times and its id."""
    report = {name: text for name, text in scan.report["report"].items() if name not in TIMES}
    agent = scan.agent
    last = agent.events.latest("pk")
    return {
        "report": report,
        "columns": [scan.findings, scan.unseen, scan.places_done, scan.places_total],
        "alarm": list(agent.conditions.filter(type=alarm.CREDENTIALS).values("status", "message")),
        "timeline": (last.kind, last.title, last.detail),
    }


@pytest.fixture
def neighbour(as_charlie, kept):
    return create_agent(as_charlie, name="neighbour", runtime="hermes")


@pytest.fixture
def everywhere(node, kept, neighbour, backend, services):
    """Plants in every place that others share: her guess lies in each."""

    def plant() -> None:
        for folder in FOLDERS:
            node.plant(folder, KEY.encode())
        node.plant(".", bytes(8192) + KEY.encode() * 30, "pool.img")
        Event.objects.create(agent=neighbour, kind="odd", title="odd", detail=KEY)
        AuditEvent.objects.create(action="odd", actor_kind="system", target_label=KEY)
        with redis.Redis.from_url(services["REDIS_URL"]) as client:
            client.set("odd", KEY)

    node.plant(".", bytes(9000), "pool.img")
    backend.workspaces.places[kept.pk] = Kept(node.workspace, pool=node.root / "pool.img")
    yield plant
    with redis.Redis.from_url(services["REDIS_URL"]) as client:
        client.flushall()


def test_what_others_have_changes_nothing_that_an_organisation_sees(scan, everywhere):
    first = seen(scan())
    everywhere()

    after = scan()

    second = seen(after)
    assert (after.findings, found(after)) == (0, [])
    for each in (first, second):  # its own timeline and past scans grow, whatever was found
        own = next(one for one in each["report"]["places"] if one["place"] == "database")
        del own["rows"], own["bytes"]
    assert first == second
    assert {place for place, _ in found_for_operators(after)} >= {
        *("pool", "networks", "database_rest", "database_files", "queue", "queue_files"),
        *("vault_files", "own_logs", "own_files"),
    }


def test_bytes_of_shared_places_are_not_counted(scan, everywhere):
    everywhere()

    done = scan()

    told = [place.get("bytes", 0) for place in done.report["report"]["places"]]
    assert done.bytes_read <= sum(told)


def test_of_every_shared_place_the_same_is_said(scan, node):
    node.plant("state/log", KEY.encode())

    shared = [one for one in scan().report["report"]["places"] if one.get("shared")]

    assert [one["place"] for one in shared] == [spot.name for spot in SHARED]
    assert {frozenset(one) for one in shared} == {frozenset({"place", "title", "shared", "why"})}
    assert len({one["why"] for one in shared}) == 1


def test_a_shared_place_that_fails_is_told_to_operators(scan, monkeypatch):
    def broken(*_):
        raise OSError

    monkeypatch.setattr("provisioner.scan.places.queue._client", broken)

    done = scan()

    own = [one for one in done.report["report"]["places"] if not one.get("shared")]
    assert done.unseen == sum(not one["looked_at"] for one in own)
    assert "OSError" not in json.dumps(done.report)
    assert "OSError" in json.dumps(told_to_operators(done))


def test_operators_are_told_in_the_log_and_in_a_signed_report(scan, node, caplog):
    caplog.set_level(logging.ERROR)
    node.plant("state/log", KEY.encode())

    done = scan()

    assert f"Scan {done.pk} of agent {done.agent_id} found credentials" in caplog.text
    assert "(own_logs)" in caplog.text
    kept = OperatorReport.objects.get()
    assert (kept.pk, kept.agent, kept.findings) == (done.pk, done.agent_id, 1)
    assert verify(kept.report, ScanKey.objects.get().public_key)["audience"] == "operators"
    assert KEY not in json.dumps(kept.report)


def test_a_later_scan_does_not_come_upon_the_operators_report(scan, node):
    """Nor upon what was found before: no row of the agent holds it."""
    node.plant("state/log", b"x", f"{KEY}.log")
    scan()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE scans_operatorreport SET report = %s", [json.dumps({"a": KEY})])

    done = scan()

    assert found(done) == []
    assert "database_rest" in {place for place, _ in found_for_operators(done)}


def test_one_agents_file_rings_no_other(scan, kept, neighbour, node, backend):
    """Both hold the key; the block of the other's disk lies in the pool."""
    node.plant(".", bytes(8192) + KEY.encode(), "pool.img")
    backend.workspaces.places[kept.pk] = Kept(node.workspace, pool=node.root / "pool.img")

    assert scan().found_nothing
    assert kept.conditions.get(type=alarm.CREDENTIALS).status is True


def test_operators_are_told_whose_disk_holds_a_block(scan, kept, node, backend, monkeypatch):
    node.plant(".", bytes(8192) + KEY.encode() + bytes(8192) + KEY.encode(), "pool.img")
    other = node.plant("pool", b"x", "agt_other.img")
    where = {other: [(8192, 12288)]}
    monkeypatch.setattr("provisioner.scan.blocks.extents", lambda path: where.get(path, []))
    backend.workspaces.places[kept.pk] = Kept(node.workspace, pool=node.root / "pool.img")

    assert found_for_operators(scan()) == [
        ("pool", "blocks of agt_other.img"), ("pool", "blocks that no disk holds any more"),
    ]  # fmt: skip


def test_own_places_come_first_and_share_no_budget(scan, monkeypatch):
    budgets = {}

    def note(context, place):
        budgets.setdefault(place.shared, set()).add(id(context.budget))

    monkeypatch.setattr("provisioner.scan.run._visit", lambda context, spot, place: note(
        context, place
    ))  # fmt: skip
    scan()

    assert SPOTS == OWN + SHARED
    assert budgets[True].isdisjoint(budgets[False])


def test_operators_reports_stay_when_scans_are_forgotten(scan, kept, as_alice, node, monkeypatch):
    monkeypatch.setattr("controlplane.scans.actions.KEPT", 1)
    file = node.plant("state/log", KEY.encode())
    first = scan()
    file.unlink()
    scan()
    start_scan(as_alice, kept)

    assert not Scan.objects.filter(pk=first.pk).exists()
    assert OperatorReport.objects.get(pk=first.pk).findings == 1


def test_old_operators_reports_are_forgotten_but_for_the_last_that_tells(scan, node, monkeypatch):
    monkeypatch.setattr(OperatorReport, "KEPT", 1)
    file = node.plant("state/log", KEY.encode())
    first = scan()
    file.unlink()
    scan()
    last = scan()

    assert set(OperatorReport.objects.values_list("pk", flat=True)) == {first.pk, last.pk}
