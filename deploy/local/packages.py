"""The system tools a start needs, and their Debian packages, installed only where missing."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from deploy.local.errors import CommandFailed
from deploy.local.programs import base_environment

# command → package
ENGINE = {"dockerd": "docker.io", "iptables": "iptables"}
NODE = {
    "ip": "iproute2",
    "nft": "nftables",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mmdebstrap": "mmdebstrap",
}
OFFSITE = {"restic": "restic"}
NPM = {"npm": "npm"}


def missing(commands: Mapping[str, str], path: str) -> dict[str, str]:
    """Those of the commands that are not on the path, with their packages."""
    return {name: pack for name, pack in commands.items() if not shutil.which(name, path=path)}


def can_install(path: str, root: bool) -> bool:
    debian = Path("/etc/debian_version").exists()
    return root and debian and shutil.which("apt-get", path=path) is not None


def install(packages: Iterable[str], log: Path) -> None:
    """Install from the machine's own apt sources; all output goes to the log."""
    wanted = sorted(set(packages))
    _apt(["update"], log)
    _apt(["install", "-y", "--no-install-recommends", *wanted], log)


def _apt(arguments: list[str], log: Path) -> None:
    environment = {**base_environment(os.environ), "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("ab") as stream:
        done = subprocess.run(
            # Another apt (unattended-upgrades on a fresh machine) may hold the lock for a while.
            ["apt-get", "-o", "DPkg::Lock::Timeout=180", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            check=False,
        )
    if done.returncode:
        raise CommandFailed(
            f"`apt-get {' '.join(arguments)}` failed.",
            f"Run it by hand, or read {log}, then try again.",
        )
