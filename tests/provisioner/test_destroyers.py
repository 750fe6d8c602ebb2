"""What cannot be made again goes in three places only: each looks first whether it may."""

import re
from pathlib import Path

import provisioner

ROOT = Path(provisioner.__file__).parent
# A workspace's disk, a repository off-site, an entry of the vault.
FOR_GOOD = re.compile(r"workspaces\.destroy\(|forget_agent\(|delete_prefix\(|vault\.delete\(")
MAY = {
    "purging.py",  # after the time of grace, unless its row is older than what is there
    "delivery.py",  # the vault's part of that
    "snapshots/keeping.py",  # the store's part of that
    "strays/removing.py",  # what an operator has agreed to
    "shutdown.py",  # `make clean`, whose caller means to lose them
    "offsite/place.py",
    "offsite/bucket.py",
    "offsite/key.py",
}


def test_nothing_else_destroys_for_good():
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if FOR_GOOD.search(path.read_text())
    }

    assert found == MAY
