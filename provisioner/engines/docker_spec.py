"""From our closed schema to the SDK's arguments: the one place where a container gets its rights.

Everything a customer can choose has become a number or one of our own words before it
comes here; nothing in a ContainerSpec can widen what is below.
"""

from functools import cache
from pathlib import Path
from typing import Any

from docker.types import LogConfig, Mount, Ulimit

from provisioner.engines.base import Bind, ContainerSpec

USER = "10001:10001"
HOSTNAME = "agent"  # constant: OpenClaw's lease is bound to it, and a fork must not wait for it
MEBIBYTE = 1024 * 1024


@cache
def seccomp() -> str:
    """The engine's own profile for a container without capabilities, less io_uring, AF_VSOCK and
    the 32-bit ABI (through whose socketcall AF_VSOCK comes back in)."""
    return (Path(__file__).parent / "seccomp.json").read_text()


def container_arguments(api: Any, spec: ContainerSpec, cores: int) -> dict[str, Any]:
    host = api.create_host_config(
        binds=None,
        mounts=[_mount(bind) for bind in spec.binds],
        tmpfs={
            "/tmp": f"rw,noexec,nosuid,nodev,size={spec.tmp_mb}m,mode=1777",  # noqa: S108
            "/run/agent": "rw,noexec,nosuid,nodev,size=1m,mode=0700,uid=10001,gid=10001",
        },
        read_only=True,
        init=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={seccomp()}"],
        pids_limit=spec.pids,
        mem_limit=spec.memory_mb * MEBIBYTE,
        memswap_limit=spec.memory_mb * MEBIBYTE,
        # The engine refuses more cores than it has; the smaller host then is the limit.
        nano_cpus=min(spec.cpu_millis, cores * 1000) * 1_000_000,
        ulimits=[
            Ulimit(name="nofile", soft=4096, hard=4096),
            Ulimit(name="core", soft=0, hard=0),
        ],
        # Named here too: with the default mode newer engines add their own bridge to it.
        network_mode=spec.network,
        ipc_mode="private",
        shm_size=16 * MEBIBYTE,
        oom_score_adj=500,
        dns=list(spec.dns),
        log_config=LogConfig(type="local", config={"max-size": "5m", "max-file": "2"}),
        restart_policy={"Name": "unless-stopped"},
        runtime="runsc" if spec.isolation == "gvisor" else None,
    )
    endpoint = api.create_endpoint_config(ipv4_address=spec.address)
    return {
        "name": spec.name,
        "image": spec.image,
        "hostname": HOSTNAME,
        "user": USER,
        "environment": dict(spec.environment),
        "labels": dict(spec.labels),
        "stop_signal": "SIGTERM",
        "host_config": host,
        "networking_config": api.create_networking_config({spec.network: endpoint}),
    }


def helper_arguments(
    api: Any, image: str, argv: list[str], binds: tuple[Bind, ...]
) -> dict[str, Any]:
    """Root, but without network and with just the capabilities to hand files to the agent."""
    return {
        "image": image,
        "entrypoint": argv,
        "user": "0:0",
        "labels": {"roost.helper": "1"},
        "host_config": api.create_host_config(
            mounts=[_mount(bind) for bind in binds],
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=["CHOWN", "DAC_OVERRIDE", "FOWNER"],
            security_opt=["no-new-privileges:true"],
        ),
    }


def _mount(bind: Bind) -> Any:
    return Mount(bind.target, bind.source, type="bind", read_only=bind.read_only)
