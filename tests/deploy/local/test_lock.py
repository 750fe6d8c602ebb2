import os
from pathlib import Path

import pytest

from deploy.local import lock
from deploy.local.errors import Busy


def test_a_second_start_is_told_who_works_here(tmp_path: Path) -> None:
    with (
        lock.held(tmp_path),
        pytest.raises(Busy, match=rf"under way \(pid {os.getpid()}\)"),
        lock.held(tmp_path),
    ):
        pass
    with lock.held(tmp_path):
        assert (tmp_path / "lock").exists()
