"""What Acme has: a key, an agent; and the API in front of it."""

import pytest
from rest_framework.test import APIClient

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_key
from controlplane.keys.models import Key
from controlplane.tenants.access import Access
from controlplane.tenants.models import ApiToken, Organisation

VALUE = "sk-ant-api03-" + "s3cretS3CRET" * 4


@pytest.fixture
def key(as_alice: Access) -> Key:
    return add_key(as_alice, name="main", provider="anthropic", value=VALUE)


@pytest.fixture
def agent(as_alice: Access, key: Key) -> Agent:
    return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)


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
