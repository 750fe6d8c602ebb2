"""Without its pool, which needs root to mount: what is not seen is not told to be gone."""

from pathlib import Path

import pytest

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.loop import LoopWorkspaces


def test_a_pool_that_is_not_mounted_is_not_an_empty_one(tmp_path: Path) -> None:
    workspaces = LoopWorkspaces(tmp_path)
    workspaces.pool.mkdir()

    with pytest.raises(WorkspaceTrouble, match="not mounted"):
        workspaces.known()
    with pytest.raises(WorkspaceTrouble, match="not mounted"):
        workspaces.destroy("agt_aaaaaaaaaaaaaaaa")
