"""Going back takes longer than anybody waits for."""

import time

import pytest

from controlplane.agents.models import Agent
from provisioner.snapshots import restore as restoring
from provisioner.workspaces.base import PoolFull
from tests.provisioner.upgrades.conftest import NEXT

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_old_version_waits_for_its_disk_however_long_that_takes(
    asked, carry_out, sweeping, image, disk, backend, engine, container, running, monkeypatch
):
    """ADR 14: it never meets what the new one wrote."""
    full, real, before = [True], disk.put_in_place, disk.files()

    def put(*ids, **how):
        if full:
            raise PoolFull(0.5)
        real(*ids, **how)

    monkeypatch.setattr(backend.workspaces.clones, "put_in_place", put)
    monkeypatch.setattr(restoring, "PATIENCE", 0.5)
    monkeypatch.setattr(restoring, "SELDOM", 0.02)
    image.dies = True
    image.does = lambda: (disk.live / "work.txt").write_text("migrated")

    done = carry_out(asked())

    assert (done.outcome, done.restore.under_way) == ("rollback_failed", True)
    assert "It starts only on the workspace from before" in done.message
    assert Agent.objects.get(pk=running.pk).disk_wanted == done.restore_id
    assert engine.specs[container].image == NEXT

    full.clear()
    while done.restore.under_way:
        time.sleep(0.02)
        done.restore.refresh_from_db()
    while Agent.objects.get(pk=running.pk).status != "running":
        time.sleep(0.02)
    assert (done.restore.status, disk.files()) == ("done", before)
    assert engine.specs[container].image == done.from_image
