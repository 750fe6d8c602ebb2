"""What the node sets on its host: an address for the platform's own services, the bridges' filter,
and the processor's share of all agents together.

The address lies on the loopback interface, so it is there before any bridge, the same for all
agents, and needs no kernel module; the guard refuses it to everybody but them and the host itself.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.mounts import run

# Only so do packets between two agents on one bridge pass the guard.
BRIDGED = ("bridge-nf-call-iptables", "bridge-nf-call-ip6tables")
BRIDGE_SETTINGS = Path("/proc/sys/net/bridge")


# Without systemd the engine's containers are all below one group, which by default weighs as much
# as one process of the host: beside a few busy ones, agents would hardly run. (Of cgroup 1, and 2.)
SHARES = {
    Path("/sys/fs/cgroup/cpu/docker/cpu.shares"): 8192,
    Path("/sys/fs/cgroup/docker/cpu.weight"): 800,
}


def ensure_agents_share(shares: Mapping[Path, int] = SHARES) -> None:
    """Raise it; whoever set it higher is left alone."""
    for path, least in shares.items():
        with contextlib.suppress(OSError):  # another cgroup version, or no agent yet
            if int(path.read_text()) < least:
                path.write_text(str(least))


def ensure_bridges_filtered() -> None:
    """The engine sets these when it starts; other programs are known to switch them off."""
    for name in BRIDGED:
        with contextlib.suppress(FileNotFoundError):  # no bridge yet
            if (BRIDGE_SETTINGS / name).read_text().strip() != "1":
                (BRIDGE_SETTINGS / name).write_text("1")


def ensure_service_address(address: str) -> None:
    run("ip", "address", "replace", f"{address}/32", "dev", "lo")


def remove_service_address(address: str) -> None:
    """Absent counts as removed."""
    with contextlib.suppress(WorkspaceTrouble):
        run("ip", "address", "del", f"{address}/32", "dev", "lo")
