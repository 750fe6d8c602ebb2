"""The receipt of an agent that is gone for good, and that a removal off-site is not forgotten."""

import pytest
from django.utils.timezone import now

from controlplane.agents import actions
from controlplane.agents.models import Agent
from controlplane.audit.models import AuditEvent
from controlplane.snapshots.models import Snapshot
from provisioner import names
from provisioner.offsite import place
from provisioner.offsite.errors import StoreAway
from provisioner.reconcile import reconcile

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def deleted(running, go, as_alice, backend):
    for number in range(2):
        snapshot = Snapshot.objects.create(
            agent=running, requested_by="a", release=1, disk_gib=1, status="done", bytes=100,
            offsite_id="a" * 64 if number else "", offsite_bytes=40 * number,
        )  # fmt: skip
        backend.workspaces.clones.take(running.pk, snapshot.pk)
    actions.delete_agent(as_alice, running)
    agent = go(running)
    Agent.objects.filter(pk=agent.pk).update(purge_at=now(), due_at=now())
    return agent


def test_it_lists_what_was_removed(deleted, backend, settings, monkeypatch):
    settings.S3_ENDPOINT_URL, settings.S3_BUCKET = "http://store", "roost"
    asked = []
    monkeypatch.setattr(place, "forget_agent", lambda *who: asked.append(who) or 12)

    reconcile(deleted.pk, backend)

    event = AuditEvent.objects.get(action="agent.purged")
    told = event.data
    assert asked == [(deleted.organisation_id, deleted.pk)]
    assert (event.target, event.organisation) == (deleted.pk, deleted.organisation_id)
    assert told["container"] == names.container(deleted.pk)
    assert told["workspace"] == {"node": deleted.node, "bytes": None, "copies": 2}
    assert told["snapshots"] == {"count": 2, "bytes": 200}
    assert told["offsite"] == {
        "store": f"roost/{deleted.organisation_id}/{deleted.pk}",
        "snapshots": 1,
        "bytes_sent": 40,
        "objects": 12,
    }
    assert told["vault"] == [f"agents/{deleted.pk}"]
    assert told["rows"]["releases"] == 1
    assert told["address"] == deleted.address
    assert backend.workspaces.clones.owners() == []


def test_without_a_store_it_says_so(deleted, backend):
    reconcile(deleted.pk, backend)

    told = AuditEvent.objects.get(action="agent.purged").data["offsite"]
    assert (told["store"], told["objects"]) == (None, 0)


def test_with_the_vault_away_nothing_is_gone_and_uncounted(
    deleted, go, backend, settings, monkeypatch, vault
):
    settings.S3_ENDPOINT_URL = "http://store"
    there = [12]
    monkeypatch.setattr(place, "forget_agent", lambda *who: there.pop() if there else 0)
    vault.sealed = True
    go(deleted)
    assert there

    vault.sealed = False
    for _ in range(2):  # back to deleted, then gone
        reconcile(deleted.pk, backend)
    assert AuditEvent.objects.get(action="agent.purged").data["offsite"]["objects"] == 12


def test_with_the_store_away_workspace_and_row_stay(deleted, backend, settings, monkeypatch, vault):
    def away(*who):
        raise StoreAway

    settings.S3_ENDPOINT_URL = "http://store"
    monkeypatch.setattr(place, "forget_agent", away)

    reconcile(deleted.pk, backend)

    assert backend.workspaces.known() == [deleted.pk]
    assert f"agents/{deleted.pk}" not in vault.values
    assert Agent.objects.get(pk=deleted.pk).due_at > now()
