"""An agent begins as what was uploaded; until all of it is there and checked, there is nothing."""

from datetime import timedelta

import httpx
import pytest
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.jobs.claim import Claim, claim
from controlplane.portability.actions import begin_agent, export_workspace, open_import
from controlplane.portability.models import Import
from controlplane.snapshots.models import Snapshot
from provisioner.engines.base import EngineUnavailable, ImageMissing
from provisioner.offsite import objects, place
from provisioner.offsite.errors import StoreAway
from provisioner.portability import export as exporting
from provisioner.portability import take_in, tidying
from provisioner.snapshots import manifest
from provisioner.workspaces.base import PoolFull
from tests.provisioner.portability.conftest import compressed, entry, tar_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def begun(as_alice, stored, clones):
    """An import that an agent begins with, and that agent."""

    def begin(runtime: str = "hermes") -> Import:
        found = open_import(as_alice)
        begin_agent(as_alice, found, name="heron", runtime=runtime, disk_gib=1)
        return Import.objects.get(pk=found.pk)

    return begin


@pytest.fixture
def exported(as_alice, stored, running, snapshot, carry_out) -> bytes:
    done = carry_out(export_workspace(as_alice, running, snapshot=snapshot))
    link = place.bucket().presigned_get(exporting.key_of(done), 60, done.filename)
    return httpx.get(link, trust_env=False).content


def test_the_agent_waits_and_then_begins_as_it(begun, uploaded, exported, carry_out, go, clones):
    asked = begun()
    uploaded(asked, exported)
    waiting = go(asked.agent)
    assert (waiting.status, waiting.reason) == ("waiting", "importing")

    done = carry_out(asked)

    assert (done.status, done.message, done.came_from) == ("done", "", "hermes")
    first = Snapshot.objects.get(pk=asked.becomes)
    assert (first.origin, first.usable, first.files) == ("imported", True, 2)
    assert (clones.root / first.pk / "data" / "a.txt").read_text() == "alpha"
    assert go(asked.agent).status == "running"


def test_its_files_are_byte_for_byte_what_was_exported(
    begun, uploaded, exported, carry_out, clones, snapshot
):
    asked = begun()
    uploaded(asked, exported)

    carry_out(asked)

    before = manifest.of(clones.root / snapshot.pk / "data")
    after = manifest.of(clones.root / asked.becomes / "data")
    assert [entry.content for entry in after.entries] == [one.content for one in before.entries]


@pytest.mark.parametrize("step", ["unpacking", "checking", "status"])
def test_a_worker_that_died_is_followed_by_one_that_ends_it(
    begun, uploaded, exported, carry_out, clones, monkeypatch, step
):
    """R1"""
    asked = begun()
    uploaded(asked, exported)
    real = Claim.write

    def write(self, **columns):
        if step in (columns.get("step"), *columns):
            raise KeyboardInterrupt
        real(self, **columns)

    monkeypatch.setattr(Claim, "write", write)
    with pytest.raises(KeyboardInterrupt):
        carry_out(asked)
    assert not Snapshot.objects.filter(pk=asked.becomes).exists()
    monkeypatch.setattr(Claim, "write", real)

    assert carry_out(asked).status == "done"
    assert Snapshot.objects.filter(pk=asked.becomes).count() == 1


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"no archive at all" * 50, "not_an_archive"),
        (compressed(tar_of(entry("../out", b"x"))), "archive_refused"),
        (compressed(tar_of(entry("a", b"x")))[:-9], "archive_cut_off"),
    ],
)
def test_one_that_cannot_be_used_fails_the_agent_with_the_reason(
    begun, uploaded, carry_out, go, clones, archive, reason
):
    asked = begun()
    uploaded(asked, archive)

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", reason)
    agent = go(asked.agent)
    assert (agent.status, agent.reason, agent.workspace_made_at) == (
        "failed",
        "import_failed",
        None,
    )
    assert done.message[:60] in agent.message
    assert not clones.has(agent.pk, asked.becomes)
    assert not (clones.root / asked.becomes).exists()


def test_one_that_was_never_uploaded_is_told(begun, carry_out):
    assert carry_out(begun()).reason == "nothing_uploaded"


def test_an_export_whose_file_was_altered_is_told(begun, uploaded, carry_out):
    label = b'{"format": 1, "runtime": "hermes", "content_sha256": "%s"}' % (b"0" * 64)
    altered = tar_of(entry("roost-export.json", label), entry("workspace/a.txt", b"alphb"))
    asked = begun()
    uploaded(asked, compressed(altered))

    assert carry_out(asked).reason == "archive_altered"


OPENCLAW = compressed(
    tar_of(
        entry("roost-export.json", b'{"format": 1, "runtime": "openclaw"}'),
        entry("workspace/.openclaw/state", b"x"),
        entry("workspace/agent/SOUL.md", b"Be kind"),
    )
)
PLAIN = compressed(tar_of(entry(".openclaw/state", b"x"), entry("agent/SOUL.md", b"Be kind")))


@pytest.mark.parametrize("archive", [OPENCLAW, PLAIN], ids=["export", "plain"])
def test_another_runtimes_is_taken_over_by_its_own_command(
    begun, uploaded, carry_out, engine, clones, archive
):
    engine.apart_ends = (0, "5 migrated\nMigration complete!")
    asked = begun()
    uploaded(asked, archive)

    done = carry_out(asked)

    assert (done.status, "5 migrated" in done.report) == ("done", True)
    (ran,) = engine.apart
    assert ran.argv[:3] == ("/opt/hermes/bin/hermes", "claw", "migrate")
    assert (ran.name, ran.cpu_millis) == (
        f"roost-{asked.agent_id}-apart",
        asked.agent.release.cpu_millis,
    )
    assert "--migrate-secrets" not in ran.argv
    beside = clones.root / asked.becomes / "data" / "from-openclaw" / ".openclaw"
    assert (beside / "workspace" / "SOUL.md").read_text() == "Be kind"


@pytest.mark.parametrize("ends", [(1, "no"), (0, "Refusing to apply.")])
def test_a_migration_that_did_not_do_it_fails_with_its_words(
    begun, uploaded, carry_out, engine, ends
):
    engine.apart_ends = ends
    asked = begun()
    uploaded(asked, OPENCLAW)

    done = carry_out(asked)

    assert (done.reason, ends[1] in done.message) == ("migration_failed", True)
    assert not Snapshot.objects.filter(pk=asked.becomes).exists()


def test_a_plain_archive_does_not_lead_the_node_astray(begun, uploaded, carry_out, engine):
    """T12: a link where what is taken over is laid."""
    link = entry("from-openclaw", type=b"2", linkname="/usr/lib")
    asked = begun()
    uploaded(asked, compressed(tar_of(entry(".openclaw/state", b"x"), link)))

    assert carry_out(asked).reason == "archive_refused"
    assert engine.apart == []


def test_the_archive_goes_when_it_was_used_or_nobody_did(
    begun, uploaded, exported, carry_out, as_alice
):
    used, unused = begun(), open_import(as_alice)
    for one in (used, unused):
        uploaded(one, exported)
    carry_out(used)
    just, over = (now() - timedelta(seconds=seconds) for seconds in (1, 3601))
    Import.objects.filter(pk=unused.pk).update(expires_at=just)
    assert tidying.remove_archives() == 0, "somebody may upload to it still"
    Import.objects.filter(pk=unused.pk).update(expires_at=over)
    Import.objects.filter(pk=used.pk).update(finished_at=over)

    assert tidying.remove_archives() == 2

    for one in (used, unused):
        key = place.import_key(one.organisation_id, one.pk)
        assert objects.size(place.bucket(), key) is None
    assert Agent.objects.count() == 2


def test_what_was_uploaded_after_it_was_used_goes_with_its_agent(begun, uploaded, carry_out):
    asked = begun()
    carry_out(asked)
    Import.objects.update(removed_at=now())
    uploaded(asked, PLAIN)

    tidying.remove_agent(asked.agent)

    key = place.import_key(asked.organisation_id, asked.pk)
    assert objects.size(place.bucket(), key) is None


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (StoreAway(), "offsite_away"),
        (PoolFull(0.1), "pool_full"),
        (EngineUnavailable("no answer"), "engine_trouble"),
        (ImageMissing("roost/hermes:1"), "engine_trouble"),
    ],
)
def test_what_passes_is_waited_for_and_the_archive_stays(
    begun, uploaded, exported, carry_out, go, monkeypatch, trouble, reason
):
    asked = begun()
    uploaded(asked, exported)
    with monkeypatch.context() as away:
        away.setattr(take_in.objects, "size", raising(trouble))
        waits = carry_out(asked)

    assert (waits.status, waits.reason, waits.attempts) == ("pending", reason, 0)
    assert str(trouble) in waits.message
    assert "tried again" in waits.message
    agent = go(asked.agent)
    assert (agent.status, agent.reason) == ("waiting", "importing")
    assert str(trouble) in agent.message
    assert claim(Import, agent.node) is None, "not at once"
    Import.objects.update(lease_until=now() - timedelta(seconds=1))
    assert claim(Import, agent.node) is not None
    done = carry_out(asked)
    assert (done.status, done.reason, done.message) == ("done", "", "")


def test_what_does_not_pass_is_told_in_the_end(begun, uploaded, exported, carry_out, monkeypatch):
    asked = begun()
    uploaded(asked, exported)
    Agent.objects.update(created_at=now() - Import.LONGEST)
    monkeypatch.setattr(take_in.objects, "size", raising(StoreAway()))

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", "offsite_away")
    assert "import once more" in done.message


def test_those_that_wait_hold_up_no_other(begun, as_alice, uploaded, carry_out, monkeypatch):
    first = begun()
    monkeypatch.setattr(take_in.objects, "size", raising(StoreAway()))
    monkeypatch.setattr(Import, "AT_ONCE", 1)
    carry_out(first)
    second = open_import(as_alice)
    begin_agent(as_alice, second, name="other", runtime="hermes", disk_gib=1)

    assert claim(Import, first.agent.node).job_id == second.pk


def test_its_first_snapshot_goes_off_site_where_there_is_a_store(
    begun, uploaded, exported, carry_out, monkeypatch
):
    asked = begun()
    uploaded(asked, exported)
    monkeypatch.setattr(place, "why_not", lambda: None)

    carry_out(asked)

    first = Snapshot.objects.get(pk=asked.becomes)
    assert (first.status, first.finished_at, first.usable) == ("pending", None, True)


def raising(trouble: Exception):
    def raises(*of):
        raise trouble

    return raises
