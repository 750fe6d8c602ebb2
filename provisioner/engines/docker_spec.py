"""From our closed schema to the SDK's arguments: the one place where a container gets its rights.

Everything a customer can choose has become a number or one of our own words before it
comes here; nothing in a ContainerSpec can widen what is below.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docker.types import IPAMConfig, IPAMPool, LogConfig, Mount, Ulimit

from provisioner.engines.base import Apart, Bind, ContainerSpec, NetworkSpec

USER = "10001:10001"
RUNSC = "runsc"  # the name under which an operator gives gVisor to the engine
HOSTNAME = "agent"  # constant: OpenClaw's lease is bound to it, and a fork must not wait for it
MEBIBYTE = 1024 * 1024
LEEWAY = 60  # seconds for which who started it is waited for


@cache
def seccomp() -> str:
    """The engine's own profile for a container without capabilities, less io_uring, every family of
    sockets but local, IPv4, IPv6 and netlink (so no AF_VSOCK, AF_ALG, ...), and the 32-bit ABI
    (through whose socketcall they come back in)."""
    return (Path(__file__).parent / "seccomp.json").read_text()


def container_arguments(api: Any, spec: ContainerSpec, cores: int) -> dict[str, Any]:
    endpoint = api.create_endpoint_config(ipv4_address=spec.address)
    return {
        "name": spec.name,
        "image": spec.image,
        "hostname": HOSTNAME,
        "user": USER,
        "environment": dict(spec.environment),
        "labels": dict(spec.labels),
        "stop_signal": "SIGTERM",
        "host_config": _host_config(
            api,
            spec,
            cores,
            binds=None,
            # Named here too: with the default mode newer engines add their own bridge to it.
            network_mode=spec.network,
            dns=list(spec.dns),
            log_config=LogConfig(type="local", config={"max-size": "5m", "max-file": "2"}),
            restart_policy={"Name": "unless-stopped"},
        ),
        "networking_config": api.create_networking_config({spec.network: endpoint}),
    }


def apart_arguments(api: Any, apart: Apart, cores: int, patience: int) -> dict[str, Any]:
    """As an agent's own container, without a network, and ended by itself where who started it was
    killed meanwhile. `patience` in seconds."""
    ending = ["timeout", "--kill-after=10", str(patience + LEEWAY)]
    return {
        "name": apart.name,
        "image": apart.image,
        "entrypoint": [*ending, *apart.argv],
        "hostname": HOSTNAME,
        "user": USER,
        "environment": dict(apart.environment),
        "labels": {"roost.helper": "1"},
        "host_config": _host_config(
            api,
            apart,
            cores,
            network_mode="none",
            log_config=LogConfig(type="local", config={"max-size": "1m", "max-file": "2"}),
        ),
    }


def _host_config(api: Any, spec: ContainerSpec | Apart, cores: int, **more: Any) -> Any:
    """What is the same for all that runs with an agent's rights."""
    return api.create_host_config(
        mounts=[_mount(bind) for bind in spec.binds],
        tmpfs=_tmpfs(spec.tmp_mb),
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
        ipc_mode="private",
        shm_size=16 * MEBIBYTE,
        oom_score_adj=500,
        runtime=RUNSC if spec.isolation == "gvisor" else None,
        **more,
    )


def _tmpfs(tmp_mb: int) -> dict[str, str]:
    return {
        "/tmp": f"rw,noexec,nosuid,nodev,size={tmp_mb}m,mode=1777",  # noqa: S108
        "/run/agent": "rw,noexec,nosuid,nodev,size=1m,mode=0700,uid=10001,gid=10001",
    }


def network_arguments(spec: NetworkSpec) -> dict[str, Any]:
    """An organisation's bridge: its agents do not see each other, and nothing is published."""
    pool = IPAMPool(subnet=spec.subnet, gateway=spec.gateway)
    return {
        "name": spec.name,
        "driver": "bridge",
        "check_duplicate": True,
        "enable_ipv6": False,
        "ipam": IPAMConfig(pool_configs=[pool]),
        "options": {
            "com.docker.network.bridge.name": spec.bridge,
            "com.docker.network.bridge.enable_icc": "false",
            "com.docker.network.bridge.host_binding_ipv4": "127.0.0.1",
        },
        "labels": dict(spec.labels),
    }


def network_shape(seen: Mapping[str, Any]) -> str:
    """Of a network that is there: what the guard's rules and fixed addresses rest on."""
    pools = [pool.get("Subnet", "") for pool in seen["IPAM"]["Config"] or ()]
    bridge = (seen["Options"] or {}).get("com.docker.network.bridge.name", "")
    return f"{' '.join(pools)} on {bridge or 'no bridge of ours'}"


def is_network(seen: Mapping[str, Any], spec: NetworkSpec) -> bool:
    return network_shape(seen) == f"{spec.subnet} on {spec.bridge}"


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
