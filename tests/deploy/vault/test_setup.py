"""`python -m deploy.vault`: a vault that was there already, set up and used with both roles."""

import stat
from pathlib import Path

import pytest

from controlplane.ids import new_id
from controlplane.keys.vault import VaultUnavailable
from controlplane.keys.vault.openbao import OpenBaoVault
from deploy.vault.__main__ import main
from tests.controlplane.keys.vaults import BareVault, bare_vault, toy_vault


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory):
    with bare_vault(tmp_path_factory.mktemp("vault") / "one") as found:
        yield found


@pytest.fixture
def administrator(bare: BareVault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_ADDR", bare.address)
    monkeypatch.setenv("VAULT_TOKEN", bare.root)


def vault_as(settings, said: str, folder: Path, role: str, mount: str = "roost") -> OpenBaoVault:
    part = said.partition(f"# the {role} process")[2]
    settings.VAULT_ADDR = said.partition("VAULT_ADDR=")[2].split()[0]
    settings.VAULT_MOUNT = mount
    settings.VAULT_ROLE_ID = part.partition("VAULT_ROLE_ID=")[2].split()[0]
    settings.VAULT_SECRET_ID = (folder / f"{role}.secret-id").read_text().strip()
    found = OpenBaoVault()
    found.session._sign_in()
    return found


def test_both_roles_can_do_their_work_and_no_more(administrator, settings, tmp_path, capsys):
    assert main([str(tmp_path / "ids")]) == 0

    said = capsys.readouterr().out
    provisioner = vault_as(settings, said, tmp_path / "ids", "provisioner")
    web = vault_as(settings, said, tmp_path / "ids", "web")
    path = f"orgs/{new_id('org')}/keys/{new_id('key')}"
    web.write(path, {"value": "x"})
    with pytest.raises(VaultUnavailable, match="does not let this process do that"):
        web.read(path)
    assert provisioner.read(path) == {"value": "x"}


def test_secret_ids_are_in_private_files_and_not_on_the_screen(administrator, tmp_path, capsys):
    main([str(tmp_path / "ids")])

    said = capsys.readouterr().out
    for role in ("web", "provisioner"):
        file = tmp_path / "ids" / f"{role}.secret-id"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().strip() not in said


def test_a_second_run_keeps_the_secret_ids_that_are_good(administrator, tmp_path, capsys):
    main([str(tmp_path)])
    first = [(tmp_path / f"{role}.secret-id").read_text() for role in ("web", "provisioner")]
    (tmp_path / "web.secret-id").write_text("spoilt")

    assert main([str(tmp_path)]) == 0

    again = [(tmp_path / f"{role}.secret-id").read_text() for role in ("web", "provisioner")]
    assert again[1] == first[1]
    assert again[0] not in (first[0], "spoilt")


def test_names_can_be_others(administrator, settings, tmp_path, capsys):
    names = ["--mount", "agents-kv", "--approle", "roost-roles", "--prefix", "prod-"]
    assert main([str(tmp_path), *names]) == 0

    said = capsys.readouterr().out
    settings.VAULT_APPROLE_MOUNT = "roost-roles"
    web = vault_as(settings, said, tmp_path, "web", "agents-kv")
    assert web.write(f"orgs/{new_id('org')}/keys/{new_id('key')}", {"value": "x"}) == 1


def test_a_role_bound_to_another_network_is_of_no_use_here(
    administrator, settings, tmp_path, capsys
):
    assert main([str(tmp_path), "--prefix", "far-", "--from", "10.9.8.0/24"]) == 0

    with pytest.raises(VaultUnavailable, match="does not let this process in"):
        vault_as(settings, capsys.readouterr().out, tmp_path, "web")


def test_without_an_audit_device_it_says_how_to_get_one(monkeypatch, tmp_path, capsys):
    with bare_vault(tmp_path / "vault", audit=False) as found:
        monkeypatch.setenv("VAULT_ADDR", found.address)
        monkeypatch.setenv("VAULT_TOKEN", found.root)

        assert main([str(tmp_path / "ids")]) == 1
        assert "No audit device is on" in capsys.readouterr().out
        assert main([str(tmp_path / "ids"), "--without-audit"]) == 0


def test_a_vault_in_dev_mode_is_refused(monkeypatch, tmp_path, capsys):
    with toy_vault() as address:
        monkeypatch.setenv("VAULT_ADDR", address)
        monkeypatch.setenv("VAULT_TOKEN", "any")

        assert main([str(tmp_path)]) == 1
    assert "would forget every key" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("address", "token", "says"),
    [
        ("", "", "Set VAULT_ADDR and VAULT_TOKEN"),
        ("http://127.0.0.1:1", "any", "cannot be reached"),
    ],
)
def test_what_is_missing_is_told(monkeypatch, tmp_path, capsys, address, token, says):
    monkeypatch.setenv("VAULT_ADDR", address)
    monkeypatch.setenv("VAULT_TOKEN", token)

    assert main([str(tmp_path)]) != 0
    assert says in capsys.readouterr().out


def test_a_token_without_rights_is_told(bare, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VAULT_ADDR", bare.address)
    monkeypatch.setenv("VAULT_TOKEN", "s.nobody")

    assert main([str(tmp_path)]) == 1
    assert "Use one with an administrator's rights" in capsys.readouterr().out
