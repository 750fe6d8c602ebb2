"""What would be sent to Docker for a container, and the bounds that none may leave."""

import json
import re

import docker

from controlplane.agents.sizes import SIZES
from provisioner.engines.docker_spec import container_arguments, seccomp
from runtimes.catalog import CATALOG

AGENT = r"agt_[a-z0-9]{16}"
ENVIRONMENT = {
    *("ROOST_AGENT", "ROOST_WORKSPACE", "ROOST_WORKSPACE_KIND", "ROOST_RELEASE", "ROOST_SETTINGS"),
}
SETTINGS = {"provider", "model", "base_url", "background", "web_origin"}
LABELS = {f"roost.{one}" for one in ("installation", "agent", "organisation", "release", "restart")}
HOST = {
    "AutoRemove", "Binds", "CapDrop", "Dns", "Init", "IpcMode", "LogConfig", "Memory", "MemorySwap",
    "Mounts", "NanoCpus", "NetworkMode", "OomScoreAdj", "PidsLimit", "ReadonlyRootfs",
    "RestartPolicy", "Runtime", "SecurityOpt", "ShmSize", "Tmpfs", "Ulimits",
}  # fmt: skip
CONFIG = {
    "name", "Hostname", "AttachStdout", "AttachStderr", "Env", "Image", "Labels", "User",
    "HostConfig", "NetworkingConfig", "StopSignal",
}  # fmt: skip


class Recorder(docker.APIClient):
    """The SDK itself, but what it would send is kept instead."""

    def __init__(self) -> None:
        super().__init__(base_url="unix:///nowhere", version="1.41")

    def create_container_from_config(self, config, name=None, platform=None):
        self.sent = json.loads(json.dumps({"name": name, **config}))


def sent(spec, cores: int = 4) -> dict:
    with Recorder() as api:
        api.create_container(**container_arguments(api, spec, cores))
        return api.sent


def assert_inside(found: dict, *, state: str, images: set[str], cores: int = 4) -> None:
    """All that an agent's container may be, whoever asked for it and however."""
    host = found["HostConfig"]
    assert filled(found) <= CONFIG
    assert filled(host) <= HOST
    _who_it_is(found, images)
    _what_it_sees(found, state)
    assert (found["User"], found["Hostname"]) == ("10001:10001", "agent")
    assert (host["CapDrop"], host["ReadonlyRootfs"], host["Init"]) == (["ALL"], True, True)
    assert host["SecurityOpt"] == ["no-new-privileges:true", f"seccomp={seccomp()}"]
    assert (host["IpcMode"], host["RestartPolicy"]["Name"]) == ("private", "unless-stopped")
    assert host.get("Runtime") in {None, "runsc"}
    assert host["Memory"] in {size.memory_mb * 2**20 for size in SIZES.values()}
    assert host["NanoCpus"] in {
        min(size.cpu_millis, cores * 1000) * 10**6 for size in SIZES.values()
    }
    assert host["MemorySwap"] == host["Memory"]
    assert host["PidsLimit"] in {runtime.pids for runtime in CATALOG.values()}
    assert {one["Name"]: one["Hard"] for one in host["Ulimits"]} == {"nofile": 4096, "core": 0}
    (network,) = found["NetworkingConfig"]["EndpointsConfig"]
    assert host["NetworkMode"] == network
    assert re.fullmatch(r"roost-[a-z0-9]+-[0-9a-f]{5}", network)


def _who_it_is(found: dict, images: set[str]) -> None:
    labels = found["Labels"]
    assert re.fullmatch(f"roost-{AGENT}", found["name"])
    assert set(labels) == LABELS
    assert found["name"] == f"roost-{labels['roost.agent']}"
    assert found["Image"] in images
    environment = dict(line.split("=", 1) for line in found["Env"])
    assert set(environment) == ENVIRONMENT
    assert environment["ROOST_AGENT"] == environment["ROOST_WORKSPACE"] == labels["roost.agent"]
    assert set(json.loads(environment["ROOST_SETTINGS"])) <= SETTINGS


def _what_it_sees(found: dict, state: str) -> None:
    mounts = found["HostConfig"]["Mounts"]
    agent = found["Labels"]["roost.agent"]
    assert {(one["Type"], one["Target"], one["ReadOnly"]) for one in mounts} == {
        ("bind", "/workspace", False), ("bind", "/roost/id", True), ("bind", "/roost/keys", True),
    }  # fmt: skip
    for one in mounts:
        assert re.fullmatch(rf"{state}(/[a-z]+)?/{agent}(/data|/id)?", one["Source"]), one
    assert set(found["HostConfig"]["Tmpfs"]) == {"/tmp", "/run/agent"}
    for option in found["HostConfig"]["Tmpfs"].values():
        assert option.startswith("rw,noexec,nosuid,nodev,size=")


def filled(fields: dict) -> set[str]:
    return {name for name, value in fields.items() if value not in (None, [], {}, "", 0, False)}
