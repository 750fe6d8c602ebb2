"""The credential proof on the real thing: a real agent, engine, workspace, vault and process."""

import base64
import json
import os
import secrets
import signal
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.jobs.claim import claim
from controlplane.keys.actions import add_key
from controlplane.scans.actions import start_scan
from controlplane.scans.models import OperatorReport, Scan, ScanKey
from controlplane.scans.signing import verify
from provisioner.jobs import launch
from provisioner.reconcile import load, reconcile
from provisioner.scan.places.disks import NO_FILE
from provisioner.scan.run import run
from tests.engine.conftest import ADDRESS, INSTALLATION, NODE_SETTINGS, POOL, wait_for
from tests.engine.killing import kill_main
from tests.engine.talk import say

# What a plain host with a container lets be looked at; swap is the host's own business.
LOOKED_AT = {
    "workspace", "disk", "copies", "image", "container", "engine", "logs", "database",
}  # fmt: skip
SHARED_LOOKED_AT = {
    "pool", "networks", "database_rest", "queue", "own_files", "own_logs", "processes",
}  # fmt: skip


FULL = {"workspace", "disk", "image", "engine", "logs", "database"}
SHARED_FULL = {"pool", "networks", "database_rest", "processes"}


@pytest.fixture
def value() -> str:
    return f'sk-{secrets.token_hex(12)}$"#{secrets.token_hex(6)}%&+/=<>'


@pytest.fixture
def agent(keyed, as_alice, value):
    key = add_key(
        as_alice, name="main", provider="custom", value=value,
        base_url=NODE_SETTINGS["ROOST_STANDIN_URL"],
    )  # fmt: skip
    made = actions.create_agent(
        as_alice, name="scout", runtime="hermes", key=key.pk, model="standin", disk_gib=1,
        egress="none",
    )  # fmt: skip
    assert reconcile(made.pk, keyed)
    made = load(made.pk)
    assert made.status == "running", made.message
    return made


@pytest.fixture
def scanned(keyed, as_alice, settings, services, state):
    """A whole scan of an agent; returns it as it is afterwards."""
    settings.REDIS_URL = services["REDIS_URL"]
    settings.ROOST_LOG_DIR = state / "log"
    settings.ROOST_LOG_DIR.mkdir(exist_ok=True)

    def go(agent) -> Scan:
        asked = start_scan(as_alice, agent)
        run(claim(Scan, agent.node, asked.pk), keyed)
        done = Scan.objects.get(pk=asked.pk)
        assert done.status == "done", done.message
        return done

    return go


def found(scan) -> list[tuple[str, str, str]]:
    return findings(scan.report["report"])


def findings(report) -> list[tuple[str, str, str]]:
    return [(one["place"], one["path"], one["form"]) for one in report["findings"]]


def for_operators(scan):
    return OperatorReport.objects.get(pk=scan.pk).report["report"]


def test_after_turn_crash_and_restart_nothing_is_found(keyed, as_alice, agent, scanned):
    say(keyed, agent, "Remember: the codeword is heron-4711")
    kill_main(keyed.engine, f"roost-{agent.pk}")
    wait_for(lambda: keyed.engine.inspect(f"roost-{agent.pk}").restart_count == 1)
    assert reconcile(agent.pk, keyed)
    actions.restart_agent(as_alice, agent)
    assert reconcile(agent.pk, keyed)

    done = scanned(load(agent.pk))

    report = verify(done.report, ScanKey.objects.get().public_key)
    told = for_operators(done)
    own = [one for one in report["places"] if not one.get("shared")]
    places = {one["place"]: one for one in [*own, *told["places"]]}
    assert (found(done), findings(told)) == ([], [])
    looked_at = {name for name, one in places.items() if one["looked_at"]}
    assert looked_at >= LOOKED_AT | SHARED_LOOKED_AT
    assert {one["name"] for one in report["looked_for"]} >= {"gateway token", "provider key main"}
    small = {name for name in FULL | SHARED_FULL if places[name]["bytes"] < 1000}
    assert small == set(), [places[name] for name in small]
    assert agent.conditions.get(type="Credentials").status is True


def test_a_copy_in_the_workspace_is_found_once_and_named(agent, scanned, state, value):
    data = state / "workspaces" / agent.pk / "data"
    (data / "notes").mkdir()
    (data / "notes" / "env.b64").write_bytes(b"x" + base64.b64encode(b"KEY=" + value.encode()))

    done = scanned(agent)

    assert found(done) == [("workspace", "/workspace/notes/env.b64", "base64")]
    alarm = agent.conditions.get(type="Credentials")
    assert (alarm.status, alarm.reason) == (False, "credential_found")
    assert "/workspace/notes/env.b64 holds the provider key main" in alarm.message

    (data / "notes" / "env.b64").unlink()
    again = scanned(agent)
    left = {(place, path) for place, path, _ in found(again)}
    assert left <= {("disk", NO_FILE)}


def test_a_copy_is_found_while_the_agent_is_stopped(agent, keyed, as_alice, scanned, state, value):
    data = state / "workspaces" / agent.pk / "data"
    (data / "key.txt").write_text(value)
    actions.stop_agent(as_alice, agent)
    assert reconcile(agent.pk, keyed)

    done = scanned(load(agent.pk))

    assert ("disk", "/workspace/key.txt", "plain") in found(done)


@pytest.mark.parametrize(
    ("where", "place", "whose"),
    [
        ("{state}/pool/{agent}.img.snapshot-1", "copies", found),
        ("{state}/log/worker.log", "own_logs", lambda scan: findings(for_operators(scan))),
    ],
)
def test_a_copy_on_the_node_is_found(agent, scanned, state, value, where, place, whose):
    path = where.format(state=state, agent=agent.pk)
    with open(path, "w") as file:
        file.write(f"something\n{json.dumps(value)}\n")
    try:
        done = scanned(agent)
    finally:
        os.unlink(path)

    assert (place, path, "JSON-escaped") in whose(done)


def test_what_the_agent_prints_is_found_in_its_log(agent, keyed, scanned, value):
    api = keyed.engine._api
    code = f"open('/proc/1/fd/1', 'w').write({value!r} + chr(10))"
    made = api.exec_create(f"roost-{agent.pk}", ["python3", "-c", code], user="10001")
    api.exec_start(made["Id"])

    done = scanned(agent)

    assert "logs" in {place for place, _, _ in found(done)}


@pytest.fixture
def outside(keyed, services, state, monkeypatch):
    """Processes that are started are of this installation, with the real vault."""
    base = urlsplit(services["DATABASE_URL"])
    database = base._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    environment = {
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.local", "DATABASE_URL": database,
        "REDIS_URL": services["REDIS_URL"], "SECRET_KEY": "insecure-for-tests-only",
        "GATEWAY_SECRET": "gateway-secret-for-tests-only-000000", "ROOST_STATE_DIR": str(state),
        "ROOST_INSTALLATION": INSTALLATION, "ROOST_NETWORK_POOL": POOL,
        "ROOST_SERVICE_ADDRESS": ADDRESS, "VAULT_ADDR": services["VAULT_ADDR"],
        "VAULT_MOUNT": services["VAULT_MOUNT"],
        "VAULT_ROLE_ID": services["VAULT_PROVISIONER_ROLE_ID"],
        "VAULT_SECRET_ID": services["VAULT_PROVISIONER_SECRET_ID"],
    }  # fmt: skip
    for name, text in environment.items():
        monkeypatch.setenv(name, text)


def test_a_killed_process_leaves_a_scan_that_the_next_one_ends(agent, as_alice, outside, scanned):
    asked = start_scan(as_alice, agent)
    process = launch.start(claim(Scan, agent.node, asked.pk))
    wait_for(lambda: Scan.objects.get(pk=asked.pk).bytes_read > 0)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    Scan.objects.update(lease_until=now() - timedelta(seconds=1))

    assert launch.start(claim(Scan, agent.node, asked.pk)).wait(180) == 0

    asked.refresh_from_db()
    assert (asked.status, asked.findings, asked.attempts) == ("done", 0, 2)
