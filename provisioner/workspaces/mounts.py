"""mount(8), umount(8) and the kernel's own list of what is mounted."""

import subprocess
from pathlib import Path

from provisioner.workspaces.base import WorkspaceTrouble

TIMEOUT = 30  # seconds
# Of a workspace, whoever mounts it: the mount of one who was killed is the next one's.
WORKSPACE = "loop,noatime,nodev,nosuid,discard"


def is_mounted(path: Path) -> bool:
    """Asks the kernel; a bind of the same file system is told apart, which st_dev would not."""
    wanted = str(path.resolve())
    with Path("/proc/self/mountinfo").open() as lines:
        return any(_unescape(line.split(" ", 5)[4]) == wanted for line in lines)


def mounts_below(path: Path) -> list[Path]:
    """Innermost first, the order in which they can be unmounted."""
    root = path.resolve()
    with Path("/proc/self/mountinfo").open() as lines:
        points = [Path(_unescape(line.split(" ", 5)[4])) for line in lines]
    return sorted((p for p in points if p.is_relative_to(root)), key=lambda p: -len(p.parts))


def run(
    *argv: str, text: str | None = None, timeout: float | None = None, fine: tuple[int, ...] = (0,)
) -> str:
    """One tool, bounded in time. Raises WorkspaceTrouble with what it said, where its exit code is
    not one of the `fine` ones."""
    timeout = TIMEOUT if timeout is None else timeout
    try:
        done = subprocess.run(
            argv, input=text, capture_output=True, text=True, timeout=timeout, check=False
        )
    except FileNotFoundError as error:
        raise WorkspaceTrouble(f"{argv[0]} is not installed on this node.") from error
    except subprocess.TimeoutExpired as error:
        raise WorkspaceTrouble(f"{argv[0]} did not end within {timeout:g} s.") from error
    if done.returncode not in fine:
        raise WorkspaceTrouble(f"{argv[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def unmount(path: Path) -> None:
    """Absent counts as unmounted. Lazily where somebody still holds a file open."""
    for _ in range(8):  # the same point may be mounted over itself
        if not is_mounted(path):
            return
        try:
            run("umount", str(path))
        except WorkspaceTrouble:
            run("umount", "--lazy", str(path))


def _unescape(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
