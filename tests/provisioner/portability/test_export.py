"""An export is there whole, read back, for a while; or it says why not."""

import hashlib
from datetime import timedelta

import httpx
import pytest
import zstandard
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.jobs.claim import Claim, ClaimLost, give_up_hopeless
from controlplane.portability.actions import export_workspace
from controlplane.portability.models import Export
from controlplane.snapshots.actions import forget
from controlplane.snapshots.models import Snapshot
from provisioner.offsite import objects, place
from provisioner.portability import export as exporting
from provisioner.portability import tidying
from provisioner.snapshots import keeping

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(as_alice, stored, running, snapshot) -> Export:
    return export_workspace(as_alice, running, snapshot=snapshot)


def link_of(export: Export) -> str:
    return place.bucket().presigned_get(exporting.key_of(export), 60, export.filename)


def test_it_can_be_downloaded_and_is_what_was_read_back(asked, carry_out, snapshot):
    done = carry_out(asked)

    assert (done.status, done.message, done.snapshot_id) == ("done", "", snapshot.pk)
    found = httpx.get(link_of(done), trust_env=False)
    assert hashlib.sha256(found.content).hexdigest() == done.sha256
    assert len(found.content) == done.bytes
    assert done.filename in found.headers["content-disposition"]
    assert done.taken_at == snapshot.taken_at
    assert timedelta(hours=23) < done.kept_until - now() <= timedelta(hours=24)


def test_it_says_what_it_is_of_and_no_secret(asked, carry_out, snapshot, vault, running):
    done = carry_out(asked)

    packed = httpx.get(link_of(done), trust_env=False).content
    tar = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    assert snapshot.manifest_sha256.encode() in tar
    assert b'"runtime": "hermes"' in tar
    token = vault.read(f"agents/{running.pk}")["gateway"]
    assert token.encode() not in tar


def test_without_a_snapshot_one_is_taken_and_goes_again(
    as_alice, stored, running, clones, carry_out, backend
):
    asked = export_workspace(as_alice, running)
    real = type(clones).take

    def take(self, agent_id, clone_id):
        (clones.root / clone_id / "data").mkdir(parents=True)
        (clones.root / clone_id / "data" / "now.txt").write_text("now")
        return real(self, agent_id, clone_id)

    clones.take = take.__get__(clones)

    done = carry_out(asked)

    assert (done.status, done.message) == ("done", "")
    taken = Snapshot.objects.get()
    assert (taken.origin, taken.deleted_at is not None) == ("export", True)
    keeping.remove_forgotten(backend)
    assert clones.known(running.pk) == []


@pytest.mark.parametrize("step", ["copying", "checking", "sending", "reading_back", "sha256"])
def test_a_worker_that_died_is_followed_by_one_that_ends_it(asked, carry_out, monkeypatch, step):
    """R1: what the first left in the store does not show in the end."""

    class Killed(BaseException):
        pass

    real = Claim.write

    def write(self, **columns):
        real(self, **columns)
        if step in (columns.get("step"), *columns):
            raise Killed

    monkeypatch.setattr(Claim, "write", write)
    with pytest.raises(Killed):
        carry_out(asked)
    monkeypatch.setattr(Claim, "write", real)

    done = carry_out(asked)

    assert done.status == "done"
    assert hashlib.sha256(httpx.get(link_of(done), trust_env=False).content).hexdigest() == (
        done.sha256
    )


def test_an_altered_copy_is_not_exported(asked, carry_out, clones, snapshot):
    (clones.root / snapshot.pk / "data" / "a.txt").write_text("alphb")

    done = carry_out(asked)

    assert (done.status, "not what it was" in done.message) == ("failed", True)
    assert objects.size(place.bucket(), exporting.key_of(done)) is None


def test_a_deleted_snapshot_is_told(asked, carry_out, snapshot):
    forget(snapshot)

    assert "deleted meanwhile" in carry_out(asked).message


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("S3_ENDPOINT_URL", "http://127.0.0.1:9", "offsite_away"),
        ("S3_SECRET_ACCESS_KEY", "wrong" * 8, "offsite_refused"),
        ("S3_BUCKET", "no-such-bucket", "offsite_refused"),
        ("S3_ENDPOINT_URL", "", "no_store"),
    ],
)
def test_a_store_that_is_wrong_or_away_is_told(asked, carry_out, settings, setting, value, reason):
    """B3: the agent goes on."""
    setattr(settings, setting, value)

    done = carry_out(asked)

    assert (done.status, done.reason) == ("failed", reason)
    assert "wrongwrong" not in done.message
    assert Agent.objects.get().status == "running"


def test_what_comes_back_otherwise_is_no_success(asked, carry_out, monkeypatch):
    """B1"""
    monkeypatch.setattr(objects, "_pieces", lambda body: iter([b"other"]))

    assert carry_out(asked).reason == "offsite_damaged"


def test_it_goes_when_its_time_is_over(asked, carry_out):
    done = carry_out(asked)
    assert tidying.remove_archives() == 0
    Export.objects.update(kept_until=now() - timedelta(seconds=1))

    assert [tidying.remove_archives(), tidying.remove_archives()] == [1, 0]

    assert httpx.get(link_of(done), trust_env=False).status_code == 404
    assert not Export.objects.get().ready


def test_it_goes_with_its_agent(asked, carry_out, running):
    done = carry_out(asked)

    tidying.remove_agent(running)

    assert objects.size(place.bucket(), exporting.key_of(done)) is None


def test_with_the_store_away_it_goes_later(asked, carry_out, settings, store):
    carry_out(asked)
    Export.objects.update(kept_until=now() - timedelta(seconds=1))
    settings.S3_ENDPOINT_URL = "http://127.0.0.1:9"
    assert tidying.remove_archives() == 0
    settings.S3_ENDPOINT_URL = store["S3_ENDPOINT_URL"]
    assert tidying.remove_archives() == 1


def test_one_whose_agent_is_gone_for_good_meanwhile_leaves_nothing(asked, carry_out, monkeypatch):
    real = objects.put_stream

    def put(store, archive, key):
        real(store, archive, key)
        Export.objects.all().delete()

    monkeypatch.setattr(objects, "put_stream", put)

    with pytest.raises(ClaimLost):
        carry_out(asked)
    assert objects.size(place.bucket(), exporting.key_of(asked)) is None


def test_one_that_was_given_up_leaves_neither_archive_nor_snapshot(
    as_alice, stored, running, clones, snapshot, carry_out, monkeypatch
):
    asked = export_workspace(as_alice, running, snapshot=snapshot)
    Snapshot.objects.update(origin="export")  # as one that was taken for it
    real = Claim.write

    def write(self, **columns):
        if columns.get("step") == "reading_back":
            raise KeyboardInterrupt
        real(self, **columns)

    with monkeypatch.context() as dying:
        dying.setattr(Claim, "write", write)
        with pytest.raises(KeyboardInterrupt):
            carry_out(asked)
    assert objects.size(place.bucket(), exporting.key_of(asked)) is not None
    assert tidying.remove_archives() == 0, "it is under way"
    Export.objects.update(attempts=Export.ATTEMPTS, lease_until=None)
    assert give_up_hopeless(Export, running.node) == 1

    assert [tidying.remove_archives(), tidying.remove_archives()] == [1, 0]

    assert objects.size(place.bucket(), exporting.key_of(asked)) is None
    assert Snapshot.objects.get().deleted_at is not None


@pytest.mark.parametrize("moment", ["put_stream", "opened"])
@pytest.mark.parametrize(
    ("change", "stays"),
    [({"status": "failed", "removed_at": now()}, False), ({"fence": 99}, True)],
    ids=["given up", "taken over"],
)
def test_a_worker_that_lost_it_leaves_nothing_where_nobody_goes_on(
    asked, carry_out, monkeypatch, moment, change, stays
):
    real = getattr(objects, moment)

    def meanwhile(*of):
        Export.objects.update(**change)
        return real(*of)

    monkeypatch.setattr(objects, moment, meanwhile)

    with pytest.raises(ClaimLost):
        carry_out(asked)

    there = objects.size(place.bucket(), exporting.key_of(asked)) is not None
    assert there == stays
