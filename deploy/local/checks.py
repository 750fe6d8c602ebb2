"""What must hold before anything is changed: the interpreter, the disk, the ports."""

import shutil
import sys
from pathlib import Path

from deploy.local import ports, processes, seaweedfs
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation

GIB = 1024**3
# The base image, its build and a few agents; a later start needs only room to breathe.
FIRST_START_GIB = 8
LATER_START_GIB = 1


def system(platform: str = sys.platform, version: tuple[int, ...] = sys.version_info[:2]) -> None:
    if not platform.startswith("linux"):
        raise CheckFailed(
            f"A local start needs Linux, and this is {platform}.", "Use a Linux machine or VM."
        )
    if version < (3, 11):
        raise CheckFailed(
            f"Python {'.'.join(map(str, version))} is too old.",
            "Install Python 3.11 or newer and remove .venv.",
        )


def disk(state_dir: Path, free: int | None = None, *, services_only: bool = False) -> None:
    """`free` in bytes is asked of the file system when not given."""
    place = next(path for path in (state_dir, *state_dir.parents) if path.exists())
    have = shutil.disk_usage(place).free if free is None else free
    first = not services_only and not (state_dir / "local.json").exists()
    need = FIRST_START_GIB if first else LATER_START_GIB
    if have < need * GIB:
        raise CheckFailed(
            f"Only {have / GIB:.1f} GiB are free at {place}, and"
            f" {'a first' if first else 'a'} start needs {need} GiB.",
            "Free some space, or set ROOST_STATE_DIR to a directory on a larger disk.",
        )


def port(number: int, address: str, purpose: str, state_dir: Path) -> None:
    """The port is free, or the one who has it belongs to this installation."""
    for listener in ports.listeners(number, address):
        if listener.pid is not None and processes.is_marked(listener.pid, state_dir):
            continue
        raise CheckFailed(
            f"Port {number} ({purpose}) is taken by {listener.owner}.",
            "End that process, or choose other ports with ROOST_PORT (it and the next 13).",
        )


def loopback_ports(installation: Installation, *, services_only: bool) -> None:
    wanted = {"vault": installation.vault_port}
    wanted |= {f"store, {name}": number for name, number in seaweedfs.ports(installation).items()}
    if not services_only:
        wanted = {
            "web": installation.web_port,
            "gateway": installation.gateway_port,
            **wanted,
        }
    for purpose, number in wanted.items():
        port(number, "127.0.0.1", purpose, installation.state_dir)
