import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import down, files
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation

pytestmark = pytest.mark.engine


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system two levels below the directory, its name with a blank in it."""
    outer, inner = tmp_path / "keys", tmp_path / "keys" / "an agent"
    outer.mkdir()
    _mount(outer)
    inner.mkdir()
    _mount(inner)
    yield inner
    for point in (inner, outer):
        subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)


def test_mounts_are_found_the_deepest_first(tmp_path: Path, mounted: Path) -> None:
    assert down.mounts_below(tmp_path) == [mounted, mounted.parent]


def test_what_is_mounted_below_is_unmounted(tmp_path: Path, mounted: Path) -> None:
    down.unmount_below(tmp_path)
    assert down.mounts_below(tmp_path) == []


def test_nothing_is_deleted_while_a_mount_is_in_use(tmp_path: Path, mounted: Path) -> None:
    with (mounted / "open").open("w"), pytest.raises(CheckFailed, match="still mounted"):
        down.unmount_below(tmp_path)
    assert (mounted / "open").exists()


def test_a_link_in_the_state_directory_is_not_followed(installation: Installation) -> None:
    outside = installation.state_dir.parent / "outside"
    outside.mkdir()
    (outside / "thesis.txt").write_text("years of work")
    (installation.state_dir / "link").symlink_to(outside)
    down.clean(installation, sure=True)
    assert not installation.state_dir.exists()
    assert (outside / "thesis.txt").exists()


def _mount(point: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "test", str(point)], check=True)


def test_a_command_for_another_installation_is_refused(installation: Installation) -> None:
    files.prepare(installation)

    with pytest.raises(CheckFailed, match="belongs to the installation"):
        files.refuse_other_name(dataclasses.replace(installation, name="other"))

    files.refuse_other_name(installation)
