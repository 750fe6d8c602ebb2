"""Making an ext4 image larger: online where the host may, else while nobody has it mounted.

The image grows first, as a hole, and then the file system in it; each of the two is looked at anew
and done where it is missing, so being killed in between does no harm. Nothing is ever made smaller.
Online, the kernel asks for CAP_SYS_RESOURCE, which many containers and some machines lack.
"""

import logging
import re
import time
from pathlib import Path

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.files import LONG
from provisioner.workspaces.mounts import run

log = logging.getLogger(__name__)

FIXED = 1  # e2fsck's answer where it mended something, such as the journal of a hard stop
LETTING_GO = 2.0  # seconds the kernel may take to detach the loop device after an unmount


def lengthen(image: Path, size: int) -> None:
    """The file, to `size` bytes; one that is as large stays as it is."""
    if image.stat().st_size < size:
        with image.open("r+b") as file:
            file.truncate(size)


def held_bytes(place: Path | str) -> int:
    """What the file system at `place` spans: an image nobody has mounted, or its loop device."""
    told = run("dumpe2fs", "-h", str(place))
    found = [re.search(rf"^{name}:\s+(\d+)$", told, re.M) for name in ("Block count", "Block size")]
    if not all(found):
        raise WorkspaceTrouble(f"dumpe2fs does not tell the size of {place}.")
    count, block = (int(one[1]) for one in found if one)
    return count * block


def device_of(image: Path) -> str | None:
    """Its loop device, while anybody in any mount namespace has it mounted."""
    told = run("losetup", "--noheadings", "--output", "NAME", "--associated", str(image)).split()
    return told[0] if told else None


def grow_mounted(device: str) -> bool:
    """False where the host does not let us; then its file system is as it was."""
    try:
        run("losetup", "--set-capacity", device)
        run("resize2fs", device, timeout=LONG)
    except WorkspaceTrouble as trouble:
        log.info("%s is not grown online: %s", device, trouble)
        return False
    return True


def grow_unmounted(image: Path) -> bool:
    """False while somebody has it mounted still: two who write to one file system destroy it."""
    if not _let_go(image):
        return False
    run("e2fsck", "-p", "-f", str(image), timeout=LONG, fine=(0, FIXED))
    run("resize2fs", str(image), timeout=LONG)
    return True


def _let_go(image: Path) -> bool:
    end = time.monotonic() + LETTING_GO
    while device_of(image) is not None:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
