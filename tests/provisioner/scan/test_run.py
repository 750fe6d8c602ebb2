"""A whole scan: what it looks for, what its report tells and never tells, and the alarm."""

import json
import logging

import pytest

from controlplane.agents.actions import create_agent, update_agent
from controlplane.jobs.claim import ClaimLost, claim
from controlplane.keys.actions import rotate_key
from controlplane.scans.actions import start_scan
from controlplane.scans.models import Scan, ScanKey
from controlplane.scans.signing import Forged, canonical, verify
from provisioner.scan import alarm
from provisioner.scan.forms import forms_of
from provisioner.scan.run import run
from provisioner.scan.wanted import wanted
from provisioner.workspaces.base import Kept
from tests.provisioner.scan.conftest import KEY, found

pytestmark = pytest.mark.django_db(transaction=True)


def looked_for(scan) -> dict[str, bool]:
    return {one["name"]: one["looked_for"] for one in scan.report["report"]["looked_for"]}


def credentials(agent):
    return agent.conditions.get(type=alarm.CREDENTIALS)


# --- what is looked for


def test_it_looks_for_the_provider_key_and_the_agents_own(scan):
    assert looked_for(scan()) == {
        "gateway token": True, "own secret dashboard": True, "provider key main": True,
    }  # fmt: skip


def test_an_own_secret_of_its_runtime_is_looked_for(scan, kept, backend, vault, node):
    path = f"agents/{kept.pk}"
    vault.write(path, vault.read(path) | {"own.dashboard": "d4shb0ard" * 4})
    node.plant("workspace", b"d4shb0ard" * 4)

    done = scan()

    assert looked_for(done)["own secret dashboard"] is True
    assert found(done) == [("workspace", "/workspace/notes.txt")]


def test_a_value_too_short_to_look_for_is_told(scan, kept, vault):
    path = f"agents/{kept.pk}"
    vault.write(path, vault.read(path) | {"own.pin_token": "1234"})

    told = next(
        one
        for one in scan().report["report"]["looked_for"]
        if one["name"] == "own secret pin_token"
    )

    assert told["looked_for"] is False
    assert "too short" in told["why"]
    assert "fingerprint" not in told


def test_a_setting_that_is_kept_as_a_secret_is_told_and_not_found(scan, kept, vault, node):
    path = f"agents/{kept.pk}"
    vault.write(path, vault.read(path) | {"own.mode_token": "development"})
    node.plant("image", b"NODE_ENV=development\n" * 300)

    done = scan()

    assert looked_for(done)["own secret mode_token"] is False
    assert "an ordinary value" in json.dumps(done.report["report"]["looked_for"])
    assert found(done) == []


def test_a_providers_key_is_looked_for_however_it_looks(kept, backend, as_alice):
    rotate_key(as_alice, kept.release.key, value="sk-ant-api03-" + "n3wN3Wn3w" * 4)

    assert {secret.name for secret in wanted(backend, kept) if secret.surely} == {
        "provider key main", "provider key, as delivered",
    }  # fmt: skip


def test_an_id_that_a_set_up_came_back_with_is_no_secret(scan, kept, vault, node):
    path = f"agents/{kept.pk}"
    vault.write(path, vault.read(path) | {"own.company": "7f1c-company-id"})
    node.plant("workspace", b"7f1c-company-id")

    done = scan()

    assert looked_for(done)["own secret company"] is False
    assert found(done) == []


def test_a_key_that_was_rotated_meanwhile_is_looked_for_in_both_versions(
    scan, kept, as_alice, node, backend
):
    """The agent holds the older one until its next start."""
    rotate_key(as_alice, kept.release.key, value="sk-ant-api03-" + "n3wN3Wn3w" * 4)
    node.plant("workspace", KEY.encode())

    done = scan()

    assert "provider key, as delivered" in looked_for(done)
    assert done.report["report"]["findings"][0]["secret"] == "provider key, as delivered"


def test_the_stand_ins_key_is_no_secret(backend, as_alice, go):
    bare = create_agent(as_alice, name="bare", runtime="hermes")

    bare = go(bare)

    assert [secret.name for secret in wanted(backend, bare)] == [
        "gateway token", "own secret dashboard",
    ]  # fmt: skip


def test_a_value_of_an_earlier_release_is_looked_for_while_the_agent_holds_it(
    scan, kept, as_alice, node
):
    update_agent(as_alice, kept, key="")
    node.plant("workspace", KEY.encode())

    assert found(scan()) == [("workspace", "/workspace/notes.txt")]


# --- the report


def test_a_report_is_signed_and_its_key_is_known(scan):
    done = scan()
    key = ScanKey.objects.get()

    assert verify(done.report, key.public_key) == done.report["report"]
    assert done.report["signature"]["key_id"] == key.pk


def test_a_changed_report_is_noticed(scan):
    signed = scan().report
    signed["report"]["findings_total"] = 7

    with pytest.raises(Forged, match="changed"):
        verify(signed, signed["signature"]["public_key"])


def test_two_scans_are_signed_by_one_key(scan, vault):
    assert scan().report["signature"]["key_id"] == scan().report["signature"]["key_id"]
    assert "agents/scan-signing-key" in vault.values
    assert ScanKey.objects.count() == 1


def test_a_report_is_the_same_text_for_everybody(scan):
    report = scan().report["report"]

    assert canonical(report) == canonical(json.loads(json.dumps(report, indent=3)))
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": float("nan")})


def test_a_fingerprint_changes_with_the_value_and_not_with_time(scan, kept, as_alice):
    def of(done):
        rows = done.report["report"]["looked_for"]
        return next(one["fingerprint"] for one in rows if one["name"] == "provider key main")

    first, again = of(scan()), of(scan())
    rotate_key(as_alice, kept.release.key, value="sk-ant-api03-" + "n3wN3Wn3w" * 4)

    assert first == again
    assert of(scan()) != first


def test_no_value_is_in_the_report_the_log_or_the_timeline(scan, kept, node, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    node.plant("workspace", KEY.encode(), f"a-{KEY}.txt")
    node.plant("image", KEY.encode().hex().encode(), KEY.encode().hex())

    done = scan()

    printed = capfd.readouterr()
    told = json.dumps([done.report, list(kept.events.values_list("title", "detail"))])
    told += str(list(kept.conditions.values_list("message"))) + caplog.text + str(printed)
    assert done.findings == 4
    assert [form.text for form in forms_of(KEY.encode()) if form.text in told.encode()] == []


def test_a_sealed_vault_fails_the_scan_in_words(scan, kept, vault):
    vault.sealed = True

    done = scan()

    assert (done.status, done.reason) == ("failed", "vault_unavailable")
    assert "Start the scan again" in done.message
    assert kept.events.filter(kind="scan.failed").exists()


# --- the alarm


def test_a_finding_sets_the_alarm_with_file_secret_and_remedy(scan, kept, node):
    node.plant("workspace/.hermes", KEY.encode(), "auth.json")

    scan()

    row = credentials(kept)
    assert (row.status, row.reason) == (False, alarm.FOUND)
    assert "/workspace/.hermes/auth.json holds the provider key main" in row.message
    assert "Rotate it" in row.message
    assert "remove the file" in row.message
    assert kept.events.order_by("-pk").first().level == "bad"


def test_a_clean_scan_ends_the_alarm(scan, kept, node):
    file = node.plant("workspace", KEY.encode())
    scan()
    file.unlink()

    scan()

    assert credentials(kept).status is True
    assert kept.events.order_by("-pk").first().kind == "scan.clean"


def test_the_alarm_stays_where_its_place_could_not_be_looked_at(scan, kept, node, backend):
    node.plant("workspace", KEY.encode())
    scan()
    backend.workspaces.places[kept.pk] = Kept()

    done = scan()

    assert done.found_nothing
    assert credentials(kept).status is False
    assert kept.events.order_by("-pk").first().kind == "scan.partly"


def test_an_alarm_keeps_its_clock(scan, kept, node):
    node.plant("workspace", KEY.encode())
    scan()
    since = credentials(kept).since

    scan()

    assert credentials(kept).since == since


def test_a_pass_over_the_agent_leaves_the_alarm_alone(scan, kept, node, go):
    node.plant("workspace", KEY.encode())
    scan()

    go(kept)

    assert credentials(kept).status is False


def test_many_findings_make_one_sentence(scan, kept, node):
    for number in range(30):
        node.plant("workspace/" + "long/" * 40, KEY.encode(), f"{number}")

    scan()

    message = credentials(kept).message
    assert "and 29 more places hold the" in message
    assert message.endswith("stop what wrote it.")


# --- whoever lost the claim writes nothing


def test_a_worker_that_was_replaced_writes_nothing(as_alice, kept, backend, node):
    node.plant("workspace", KEY.encode())
    asked = start_scan(as_alice, kept)
    first = claim(Scan, kept.node, asked.pk)
    Scan.objects.update(lease_until=None)
    second = claim(Scan, kept.node, asked.pk)

    with pytest.raises(ClaimLost):
        run(first, backend)

    assert second is not None
    assert Scan.objects.get().status == "running"
    assert not kept.conditions.filter(type=alarm.CREDENTIALS).exists()
