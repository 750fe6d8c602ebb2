"""An organisation's backup key: made once, and for the provisioner alone."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.ids import new_id
from controlplane.keys.vault import VaultUnavailable
from controlplane.keys.vault.memory import MemoryVault
from provisioner.offsite.key import backup_key, forget, vault_path
from tests.controlplane.keys.test_openbao import sign_in


@pytest.fixture
def org() -> str:
    return new_id("org")


def test_it_is_made_once_for_each_organisation(vault: MemoryVault, org: str) -> None:
    made = backup_key(vault, org)

    assert len(base64.b64decode(made)) == 32
    assert backup_key(vault, org) == made != backup_key(vault, new_id("org"))
    forget(vault, org)
    assert backup_key(vault, org) != made


def test_of_two_at_once_one_is_kept(settings, services, org: str) -> None:
    provisioner = sign_in(settings, services, "PROVISIONER")
    with ThreadPoolExecutor(8) as many:
        assert len(set(many.map(lambda _: backup_key(provisioner, org), range(8)))) == 1


def test_the_web_process_can_neither_read_nor_replace_it(settings, services, org: str) -> None:
    backup_key(sign_in(settings, services, "PROVISIONER"), org)
    web = sign_in(settings, services, "WEB")
    for act in (lambda: web.read(vault_path(org)), lambda: web.write(vault_path(org), {"a": "b"})):
        with pytest.raises(VaultUnavailable):
            act()
