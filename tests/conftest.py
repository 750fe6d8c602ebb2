"""The cast, and the real services below them.

Alice owns Acme and Bob is her team mate there (a viewer); Charlie owns Umbrella and is a
stranger to both. PostgreSQL, Valkey and OpenBao are real, started once a run.
"""

from collections.abc import Iterator
from pathlib import Path

import environ
import pytest
import pytest_django
from django.conf import settings
from django.db import connections
from rest_framework.test import APIClient

from controlplane.audit.actor import SYSTEM
from controlplane.keys.vault import get_vault
from controlplane.keys.vault.memory import MemoryVault
from controlplane.tenants.access import Access, of_member
from controlplane.tenants.actions import create_organisation, issue_token
from controlplane.tenants.models import Membership, Organisation, Role, User
from deploy.local.services import backing_services, backing_store


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """DATABASE_URL, REDIS_URL, VAULT_ADDR and the vault's two roles, of running servers."""
    with backing_services(Path(tmp_path_factory.mktemp("services"))) as urls:
        yield urls


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """S3_ENDPOINT_URL, S3_BUCKET and the keys of a running store, started when first asked for."""
    with backing_store(Path(tmp_path_factory.mktemp("store"))) as urls:
        yield urls


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: dict[str, str]) -> None:
    found = environ.Env.db_url_config(services["DATABASE_URL"])
    for target in (settings.DATABASES["default"], connections["default"].settings_dict):
        target.update({name: found[name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")})
        target["OPTIONS"] = {**target.get("OPTIONS", {}), **found.get("OPTIONS", {})}


def person(name: str) -> User:
    return User.objects.create_user(f"{name.lower()}@example.test", "correct horse", name=name)


@pytest.fixture
def alice(db: None) -> User:
    return person("Alice")


@pytest.fixture
def bob(db: None) -> User:
    return person("Bob")


@pytest.fixture
def charlie(db: None) -> User:
    return person("Charlie")


@pytest.fixture
def acme(alice: User, bob: User) -> Organisation:
    organisation = create_organisation(name="Acme", slug="acme", owner=alice, by=SYSTEM)
    Membership.objects.create(organisation=organisation, user=bob, role=Role.VIEWER)
    return organisation


@pytest.fixture
def umbrella(charlie: User) -> Organisation:
    return create_organisation(name="Umbrella", slug="umbrella", owner=charlie, by=SYSTEM)


@pytest.fixture
def as_alice(acme: Organisation, alice: User) -> Access:
    return of_member(alice, id=acme.pk)


@pytest.fixture
def as_bob(acme: Organisation, bob: User) -> Access:
    return of_member(bob, id=acme.pk)


@pytest.fixture
def as_charlie(umbrella: Organisation, charlie: User) -> Access:
    return of_member(charlie, id=umbrella.pk)


def api_of(access: Access) -> APIClient:
    """An API client with a token of its own that may do all its maker may."""
    _, text = issue_token(access, name="test")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.fixture
def alice_api(as_alice: Access) -> APIClient:
    return api_of(as_alice)


@pytest.fixture
def charlie_api(as_charlie: Access) -> APIClient:
    return api_of(as_charlie)


@pytest.fixture(scope="session")
def no_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where no node has counted its rounds."""
    return Path(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def own_state(settings: pytest_django.Settings, no_memory: Path) -> None:
    """What an installation on this machine remembers says nothing of a test's database."""
    settings.ROOST_STATE_DIR = no_memory


@pytest.fixture(autouse=True)
def vault() -> Iterator[MemoryVault]:
    """A fresh vault in memory for every test; tests of the real one take `openbao`."""
    get_vault.cache_clear()
    found = get_vault()
    assert isinstance(found, MemoryVault)
    yield found
    get_vault.cache_clear()
