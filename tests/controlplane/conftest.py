"""What Acme has: a key, an agent; and the API in front of it."""

from datetime import timedelta

import pytest
from django.utils.timezone import now
from rest_framework.test import APIClient

from controlplane.agents import releases
from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.drills.models import Drill, DrillPlan
from controlplane.keys.actions import add_key, add_secret
from controlplane.keys.models import Key, Secret
from controlplane.portability.models import Export, Import
from controlplane.scans.models import Scan
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.tenants.access import Access
from controlplane.tenants.models import ApiToken, Organisation
from controlplane.trials.models import TrialPlan, TrialRestore
from controlplane.upgrades.models import Halt, Upgrade

VALUE = "sk-ant-api03-" + "s3cretS3CRET" * 4


@pytest.fixture
def key(as_alice: Access) -> Key:
    return add_key(as_alice, name="main", provider="anthropic", value=VALUE)


@pytest.fixture
def secret(as_alice: Access) -> Secret:
    return add_secret(as_alice, name="GRAFANA_TOKEN", value="glsa-value")


@pytest.fixture
def agent(as_alice: Access, key: Key) -> Agent:
    return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)


@pytest.fixture
def scan(agent: Agent) -> Scan:
    return Scan.objects.create(agent=agent, requested_by="Alice")


@pytest.fixture
def snapshot(agent: Agent) -> Snapshot:
    """One that can be used."""
    return Snapshot.objects.create(
        agent=agent,
        requested_by="Alice",
        release=1,
        disk_gib=5,
        status="done",
        on_node=True,
        taken_at=now(),
        manifest_sha256="a" * 64,
    )


@pytest.fixture
def restore(agent: Agent, snapshot: Snapshot) -> Restore:
    """One that is done."""
    return Restore.objects.create(
        agent=agent, snapshot=snapshot, requested_by="Alice", status="done"
    )


@pytest.fixture
def drill(agent: Agent) -> Drill:
    """One that is done; others are planned."""
    DrillPlan.objects.create(
        agent=agent, kind="process", every_days=7, next_at=now(), set_by="Alice"
    )
    return Drill.objects.create(
        agent=agent, kind="process", requested_by="Alice", status="done", verdict="passed"
    )


@pytest.fixture
def trial(agent: Agent, snapshot: Snapshot) -> TrialRestore:
    """One that is done; others are planned, and there is something to try."""
    columns = {"verified_at": now(), "offsite_id": "b" * 64}
    Snapshot.objects.filter(pk=snapshot.pk).update(**columns)
    TrialPlan.objects.create(organisation=agent.organisation, rule="15 1 * * 0", next_at=now())
    return TrialRestore.objects.create(
        organisation=agent.organisation,
        agent=agent,
        snapshot=snapshot,
        requested_by="Alice",
        status="done",
        outcome="equal",
    )


@pytest.fixture
def export(agent: Agent, snapshot: Snapshot) -> Export:
    """One that is done."""
    return Export.objects.create(
        agent=agent, snapshot=snapshot, requested_by="Alice", status="done", taken_at=now()
    )


@pytest.fixture
def upload(agent: Agent) -> Import:
    """A place to upload to that no agent began with."""
    return Import.objects.create(
        organisation=agent.organisation,
        requested_by="Alice",
        expires_at=now() + timedelta(hours=1),
    )


@pytest.fixture
def upgrade(agent: Agent) -> Upgrade:
    """One that is done; another image is on hold for all."""
    Halt.objects.create(
        image="roost/hermes:bad", runtime="hermes", version="9", since=now(), reason="It ended."
    )
    return Upgrade.objects.create(
        agent=agent,
        from_image="roost/hermes:1",
        from_version="1",
        to_image="roost/hermes:2",
        to_version="2",
        requested_by="Alice",
        status="done",
        outcome="kept",
    )


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> str:
    """There is a newer image for whoever was made before."""
    image = "roost/hermes:newer"
    monkeypatch.setattr(releases, "image_of", lambda runtime: image)
    return image


@pytest.fixture
def bob_api(as_bob: Access) -> APIClient:
    return token_api(as_bob, sorted(as_bob.scopes))


def token_api(access: Access, scopes: list[str]) -> APIClient:
    """A client with these scopes, also for those who may not make tokens."""
    text = f"rst_test_{'-'.join(scopes)}_{access.user.pk}"
    ApiToken.objects.create(
        organisation=access.organisation,
        name="test",
        prefix="rst_test",
        digest=ApiToken.digest_of(text),
        scopes=scopes,
        created_by=access.user,
    )
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.fixture
def roomy(acme: Organisation) -> Organisation:
    """Acme with room for hundreds of agents."""
    acme.agent_limit, acme.memory_mb_limit, acme.disk_gib_limit = 10**4, 10**7, 10**5
    acme.save()
    return acme
