import os

import pytest
from django.utils.timezone import now

from controlplane.snapshots.models import Snapshot
from provisioner.snapshots import manifest
from provisioner.trials import run
from tests.working import carried_out


class Store:
    """Gives back what a test put there, or says what is wrong."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, str]] = {}
        self.trouble: Exception | None = None

    def fetch(self, snapshot_id, target) -> None:
        if self.trouble is not None:
            raise self.trouble
        for name, text in self.kept[snapshot_id].items():
            (target / name).write_text(text)
            (target / name).chmod(0o644)
            os.utime(target / name, ns=(10**18, 10**18))  # a store keeps it, a manifest has it


@pytest.fixture
def clones(backend, tmp_path):
    backend.workspaces.clones.root = tmp_path
    return backend.workspaces.clones


@pytest.fixture
def store(monkeypatch) -> Store:
    made = Store()
    monkeypatch.setattr(run.ship, "repository", lambda backend, snapshot: made)
    monkeypatch.setattr(run.place, "why_not", lambda: None)
    return made


@pytest.fixture
def shipped(running, clones, store, tmp_path):
    """Make a snapshot that is off-site and was compared."""

    def make(**columns) -> Snapshot:
        snapshot = Snapshot.objects.create(
            **{
                "agent": running, "requested_by": "Alice", "release": 1, "disk_gib": 1,
                "status": "done", "on_node": True, "taken_at": now(), "verified_at": now(),
                "offsite_id": f"{Snapshot.objects.count():064x}", "manifest_sha256": "0" * 64,
                "bytes": 9,
            } | columns
        )  # fmt: skip
        store.kept[snapshot.offsite_id] = {"a.txt": "alpha", "b.txt": "beta"}
        folder = tmp_path / f"as {snapshot.pk}"
        folder.mkdir()
        store.fetch(snapshot.offsite_id, folder)
        found = manifest.of(folder)
        found.write(clones.manifest(running.pk, snapshot.pk))
        snapshot.manifest_sha256 = found.digest
        snapshot.save()
        return snapshot

    return make


@pytest.fixture
def carry_out(backend):
    return lambda trial: carried_out(trial, backend)
