import os
import time
from pathlib import Path

from provisioner.offsite import cache


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache.ensure(tmp_path)
    for age, name in enumerate(("new", "middle", "old", "oldest")):
        (tmp_path / name / "index").mkdir(parents=True)
        (tmp_path / name / "index" / "x").write_bytes(bytes(1000))
        moment = time.time() - age * 10_000
        os.utime(tmp_path / name, (moment, moment))

    cache.trim(tmp_path, limit=2500)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["middle", "new"]
    cache.trim(tmp_path, limit=0)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]  # a run may still read it
    assert tmp_path.stat().st_mode & 0o777 == 0o700
