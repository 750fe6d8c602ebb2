"""Where an agent's off-site snapshots lie, and what is said where there is no place."""

from pathlib import Path

import pytest

from controlplane import ids
from controlplane.keys.vault.memory import MemoryVault
from provisioner.offsite import errors, place
from provisioner.offsite.key import backup_key


@pytest.fixture
def shipped(settings, store, tmp_path: Path) -> None:
    for name, value in store.items():
        setattr(settings, name, value)
    settings.ROOST_STATE_DIR = tmp_path / "state"


def test_an_agent_has_a_repository_of_its_own_with_its_organisations_key(
    vault: MemoryVault, shipped: None, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "note").write_text("heron")
    own = place.repository(vault, "org_place", "agt_1")
    own.ensure()
    stored = own.backup(tmp_path / "data", tag="snp_1")

    assert own.url.endswith("/roost/org_place/agt_1")
    assert own.password == backup_key(vault, "org_place")
    assert (tmp_path / "state" / "restic-cache").stat().st_mode & 0o777 == 0o700
    own.fetch(stored.id, tmp_path / "back")
    assert (tmp_path / "back" / "note").read_text() == "heron"

    assert place.forget_agent("org_place", "agt_1") > 3
    with pytest.raises(errors.RepositoryMissing):
        own.snapshots()


def test_without_a_store_snapshots_stay_on_the_node(settings) -> None:
    settings.S3_ENDPOINT_URL = ""
    assert "stay on the node" in str(place.why_not())


def test_without_the_tool_snapshots_stay_on_the_node(
    shipped: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert place.why_not() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install restic" in str(place.why_not())


def test_repositories_are_found_by_whose_they_are(shipped: None, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("heron")
    store = place.bucket()
    store.ensure()
    ours, agent = ids.organisation_id(), ids.agent_id()
    long = f"{ours}_of_others"
    names = (f"{ours}/{agent}", f"{ours}/exports", f"other/{agent}", f"{long}/{agent}")
    for name in (*names, f"{ours}/{agent}.before-fix"):
        store.put(tmp_path / "note", f"{name}/config")

    mine = [one for one in place.kept() if one[0] in {ours, long, "other"}]
    assert mine == [(ours, agent)]
