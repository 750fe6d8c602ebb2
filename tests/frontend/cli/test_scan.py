"""`roost scan` against the real API, with a node that does the work."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from controlplane.agents.actions import create_agent
from controlplane.jobs.claim import claim
from controlplane.keys.actions import add_key
from controlplane.scans.models import Scan
from controlplane.tenants.actions import issue_token
from frontend.cli.main import app
from provisioner.backend import fake_backend
from provisioner.reconcile import reconcile
from provisioner.scan.run import run
from provisioner.workspaces.base import Kept
from tests.working import meanwhile

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-ant-api03-" + "s3cretS3CRET" * 4


@pytest.fixture
def files(tmp_path: Path, settings, services) -> Path:
    settings.ROOST_STATE_DIR = tmp_path / "state"
    settings.ROOST_LOG_DIR = tmp_path / "state" / "log"
    settings.REDIS_URL = services["REDIS_URL"]
    for name in ("state/log", "workspace"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "workspace"


@pytest.fixture
def backend(vault):
    return fake_backend()


@pytest.fixture
def agent(as_alice, backend, files):
    key = add_key(as_alice, name="main", provider="anthropic", value=KEY)
    made = create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)
    assert reconcile(made.pk, backend)
    backend.workspaces.places[made.pk] = Kept(files)
    return made


@pytest.fixture
def worker(agent, backend):
    """Takes up scans until the test ends."""

    def work() -> None:
        if (found := claim(Scan, agent.node)) is not None:
            run(found, backend)

    with meanwhile(work, 0.05):
        yield


@pytest.fixture
def roost(live_server, as_alice, acme, monkeypatch, tmp_path):
    """The command line with Alice's token."""
    _, token = issue_token(as_alice, name="cli")
    monkeypatch.setattr("frontend.cli.scan.PAUSE", 0.05)
    monkeypatch.setenv("ROOST_URL", live_server.url)
    monkeypatch.setenv("ROOST_ORG", acme.pk)
    monkeypatch.setenv("ROOST_TOKEN", token)

    def call(*argv: str):
        return CliRunner().invoke(app, ["scan", *argv])

    return call


def test_nothing_found_is_exit_code_0(roost, worker):
    done = roost("scout")

    assert (done.exit_code, done.exception) == (0, None), done.output
    assert "No credential was found." in done.stdout
    assert "ok Workspace" in done.stdout


def test_a_finding_is_exit_code_1_and_named(roost, worker, files):
    (files / ".env").write_text(f"KEY={KEY}")

    done = roost("scout")

    assert done.exit_code == 1
    assert "/workspace/.env: the provider key main (plain) at 4" in done.stdout
    assert KEY not in done.output


def test_the_report_as_json_is_the_signed_one(roost, worker, agent):
    done = roost(agent.pk, "-o", "json")

    assert json.loads(done.stdout) == Scan.objects.get().report


def test_a_saved_report_can_be_checked_later(roost, worker, tmp_path):
    roost("scout", "--save", str(tmp_path / "report.json"))

    done = roost("--verify", str(tmp_path / "report.json"))

    assert done.exit_code == 0, done.output
    assert "The signature is right." in done.stderr


def test_a_report_can_be_checked_by_a_key_without_a_server(roost, worker, tmp_path, monkeypatch):
    roost("scout", "--save", str(tmp_path / "report.json"))
    key = Scan.objects.get().report["signature"]["public_key"]
    monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:1")

    assert roost("--verify", str(tmp_path / "report.json"), "--key", key).exit_code == 0


def changed(report):
    report["report"]["findings_total"] = 0
    report["report"]["findings"] = []


def another_key(report):
    report["signature"]["key_id"] = "0" * 16


def unsigned(report):
    del report["signature"]


@pytest.mark.parametrize("forge", [changed, another_key, unsigned])
def test_a_forged_report_is_exit_code_2(roost, worker, files, tmp_path, forge):
    (files / ".env").write_text(KEY)
    roost("scout", "--save", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    forge(report)
    (tmp_path / "report.json").write_text(json.dumps(report))

    done = roost("--verify", str(tmp_path / "report.json"))

    assert done.exit_code == 2
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ROOST_URL", "http://127.0.0.1:1", "cannot be reached"),
        ("ROOST_TOKEN", "rst_wrong", "Make a new one in the dashboard"),
        ("ROOST_TOKEN", "", "Set ROOST_TOKEN"),
        ("ROOST_ORG", "org_aaaaaaaaaaaaaaaa", "does not exist"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(roost, agent, monkeypatch, variable, value, told):
    monkeypatch.setenv(variable, value)

    done = roost("scout")

    assert done.exit_code == 2
    assert told in done.stderr
    assert not Scan.objects.exists()


def test_an_unknown_agent_is_told(roost, agent):
    done = roost("scou")

    assert (done.exit_code, Scan.objects.count()) == (2, 0)
    assert "There is no agent called scou" in done.stderr


def test_a_failed_scan_says_why(roost, worker, vault):
    vault.sealed = True

    done = roost("scout")

    assert done.exit_code == 2
    assert "it is sealed" in done.stderr


def test_where_make_up_was_run_nothing_need_be_set(
    roost, worker, agent, acme, live_server, monkeypatch, tmp_path
):
    state = tmp_path / "made-up"
    state.mkdir()
    local = {"url": live_server.url, "org": acme.pk, "token": os.environ["ROOST_TOKEN"]}
    (state / "local.json").write_text(json.dumps(local | {"agent": agent.pk}))
    for name in ("ROOST_URL", "ROOST_ORG", "ROOST_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("ROOST_STATE_DIR", str(state))

    assert roost().exit_code == 0
