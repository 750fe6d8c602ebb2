"""Starting and reading scans over the API."""

import pytest

from controlplane.agents.actions import create_agent
from controlplane.audit.models import AuditEvent
from controlplane.ids import new_id
from controlplane.scans.actions import KEPT, start_scan
from controlplane.scans.models import Scan, ScanKey

pytestmark = pytest.mark.django_db


@pytest.fixture
def scans(acme, agent) -> str:
    return f"/api/v1/orgs/{acme.pk}/agents/{agent.pk}/scans"


def test_a_scan_is_accepted_and_waits_for_its_node(alice_api, scans, agent):
    response = alice_api.post(scans, {})

    assert response.status_code == 202
    row = Scan.objects.get()
    assert response.json() | {"id": row.pk, "agent": agent.pk, "status": "pending"} == (
        response.json()
    )
    assert row.pk.startswith("scn_")


def test_who_asked_is_written_down(alice_api, scans, agent):
    alice_api.post(scans, {})

    event = AuditEvent.objects.get(action="agent.scanned")
    assert (event.target, event.actor_kind) == (agent.pk, "token")
    assert agent.events.get(kind="scan.asked").actor == "token test"


def test_asking_twice_is_one_scan(alice_api, scans):
    first, second = alice_api.post(scans, {}), alice_api.post(scans, {})

    assert first.json()["id"] == second.json()["id"]
    assert AuditEvent.objects.filter(action="agent.scanned").count() == 1


def test_after_one_is_done_another_can_be_started(alice_api, scans):
    first = alice_api.post(scans, {}).json()["id"]
    Scan.objects.update(status="done")

    assert alice_api.post(scans, {}).json()["id"] != first


def test_the_node_is_told_by_name_once_it_is_committed(
    as_alice, agent, monkeypatch, django_capture_on_commit_callbacks
):
    told = []
    monkeypatch.setattr(
        "controlplane.jobs.dispatch.current_app.signature",
        lambda name, args, queue: told.append((name, args, queue)) or Signature(),
    )

    with django_capture_on_commit_callbacks(execute=True):
        scan = start_scan(as_alice, agent)

    assert told == [("provisioner.begin_job", ["scans.scan", scan.pk], "node.node-1")]


class Signature:
    def delay(self) -> None:
        raise OSError("the queue is away, which harms nobody")


def test_a_list_is_newest_first_and_without_reports(alice_api, scans, as_alice, agent):
    made = []
    for _ in range(3):
        made.append(start_scan(as_alice, agent).pk)
        Scan.objects.update(status="done", report={"report": {}, "signature": {}})

    rows = alice_api.get(scans).json()["items"]

    assert [row["id"] for row in rows] == made[::-1]
    assert not any("report" in row for row in rows)


def test_one_scan_has_its_report(alice_api, scans, as_alice, agent):
    scan = start_scan(as_alice, agent)
    assert alice_api.get(f"{scans}/{scan.pk}").json()["report"] is None
    signed = {"report": {"findings_total": 2}, "signature": {
        "algorithm": "Ed25519", "key_id": "k", "public_key": "p", "value": "v"}}  # fmt: skip
    Scan.objects.update(status="done", findings=2, report=signed)

    shown = alice_api.get(f"{scans}/{scan.pk}").json()

    assert shown["report"] == signed
    assert (shown["clean"], shown["findings"]) == (False, 2)


def test_another_agents_scan_is_not_there(alice_api, scans, as_alice):
    other = start_scan(as_alice, create_agent(as_alice, name="other", runtime="hermes"))

    one, nobodys = (alice_api.get(f"{scans}/{pk}") for pk in (other.pk, new_id("scn")))

    assert (one.status_code, nobodys.status_code) == (404, 404)
    assert one.json()["detail"] == nobodys.json()["detail"]


def test_reports_do_not_pile_up_and_the_one_that_found_something_stays(as_alice, agent):
    telling = start_scan(as_alice, agent)
    Scan.objects.update(status="done", findings=1)
    for _ in range(KEPT + 3):
        start_scan(as_alice, agent)
        Scan.objects.filter(status="pending").update(status="done")

    assert Scan.objects.count() == KEPT + 1
    assert Scan.objects.filter(pk=telling.pk).exists()


def test_the_key_that_signs_is_told_newest_first(alice_api):
    assert alice_api.get("/api/v1/scan-key").json() == {"algorithm": "Ed25519", "keys": []}
    for name in ("old", "new"):
        ScanKey.objects.create(id=name, public_key=f"{name}=")

    keys = alice_api.get("/api/v1/scan-key").json()["keys"]

    assert [key["id"] for key in keys] == ["new", "old"]
