"""A workspace that is mounted to put a file into it is mounted as its agent has it."""

from pathlib import Path

import pytest

from provisioner.workspaces import live, loop
from provisioner.workspaces.base import identity_text
from provisioner.workspaces.loop import LoopWorkspaces

AGENT = "agt_aaaaaaaaaaaaaaaa"


@pytest.fixture
def node(tmp_path: Path, monkeypatch) -> LoopWorkspaces:
    """One whose mounts are only told."""
    made = LoopWorkspaces(tmp_path)
    identity = made.points / AGENT / "id"
    identity.mkdir(parents=True)
    (identity / "workspace.json").write_text(identity_text(AGENT))
    made.pool.mkdir()
    (made.pool / f"{AGENT}.img").touch()
    for module in (live, loop):
        monkeypatch.setattr(module, "is_mounted", lambda path: path == made.pool)
        monkeypatch.setattr(module, "unmount", lambda path: None)
    monkeypatch.setattr(live, "device_of", lambda image: None)
    monkeypatch.setattr(made, "_grow", lambda *of: False, raising=False)
    return made


@pytest.fixture
def told(monkeypatch) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for module in (live, loop):
        monkeypatch.setattr(module, "run", lambda *argv: found.append(argv))
    return found


def test_one_who_is_killed_leaves_what_the_next_start_mounts_itself(node, told):
    with node.clones.live(AGENT):
        (left,) = told
    told.clear()

    node.ensure(AGENT, 1, made=True)

    assert [left] == told
    assert "noexec" not in left[2]


def test_writers_whom_a_killed_snapshot_holds_go_on_first(node, told):
    frozen = node.pool / f".{AGENT}.frozen"
    frozen.touch()

    with node.clones.live(AGENT):
        assert not frozen.exists()
