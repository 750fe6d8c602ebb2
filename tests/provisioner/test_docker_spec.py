"""What is sent to Docker for an agent: compared with a golden file, and bounded for any input."""

import json
import string
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.agents.models import Agent, Release
from controlplane.agents.rules import MODEL
from controlplane.agents.sizes import DISK_GIB, SIZES
from controlplane.keys.models import Key, Provider
from provisioner.engines.docker_spec import container_arguments, helper_arguments, seccomp
from provisioner.spec import Place, container_spec
from provisioner.workspaces.base import Mounted
from runtimes.catalog import CATALOG

GOLDEN = Path(__file__).parent / "golden" / "container.json"
SECRET = "sk-never-in-a-container-spec"


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


def spec_of(agent=None, release=None, place=None):
    key = Key(id="key_aaaaaaaaaaaaaaaa", name="main", organisation_id="org_aaaaaaaaaaaaaaaa")
    key.value = SECRET
    agent = agent or Agent(
        id="agt_aaaaaaaaaaaaaaaa", organisation_id="org_aaaaaaaaaaaaaaaa", restart_serial=2
    )
    release = release or Release(
        number=3, image="roost/hermes:1-abc", key=key, provider="openai", model="gpt-5.5",
        base_url="", memory_mb=512, cpu_millis=1000, disk_gib=5, egress="open",
    )  # fmt: skip
    place = place or Place(
        installation="golden",
        workspace=Mounted(Path("/state/ws/agt/data"), Path("/state/ws/agt/id"), "loop"),
        keys_dir="/state/keys/agt",
        network="roost-golden-00000",
        address="10.213.0.2",
        dns=("10.213.255.1",),
    )
    return container_spec(agent, release, CATALOG["hermes"], place)


def test_the_container_is_the_golden_one():
    """A change here is a change of what agents may do. Look at it, then write the new file."""
    found = sent(spec_of())
    options = found["HostConfig"]["SecurityOpt"]
    assert options[1] == f"seccomp={seccomp()}"
    options[1] = "seccomp=<seccomp.json>"

    assert found == json.loads(GOLDEN.read_text())


names = st.text("abcdefghijkmnpqrstuvwxyz23456789", min_size=16, max_size=16)
printable = st.text(string.ascii_letters + string.digits + string.punctuation, max_size=180)
releases = st.builds(
    Release,
    number=st.integers(1, 2**31 - 1),
    image=st.from_regex(r"roost/[a-z]{1,20}:[0-9.]{1,8}-[0-9a-f]{12}", fullmatch=True),
    provider=st.sampled_from(Provider.values),
    model=st.from_regex(MODEL, fullmatch=True),
    base_url=st.one_of(st.just(""), printable.map("https://host/".__add__)),
    memory_mb=st.sampled_from([size.memory_mb for size in SIZES.values()]),
    cpu_millis=st.sampled_from([size.cpu_millis for size in SIZES.values()]),
    disk_gib=st.sampled_from(DISK_GIB),
    egress=st.sampled_from(["open", "none"]),
)
agents = st.builds(
    Agent,
    id=names.map("agt_".__add__),
    organisation_id=names.map("org_".__add__),
    name=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    restart_serial=st.integers(0, 2**31 - 1),
)
ALLOWED_HOST = {
    "AutoRemove", "Binds", "CapDrop", "Dns", "Init", "IpcMode", "LogConfig", "Memory", "MemorySwap",
    "Mounts", "NanoCpus", "NetworkMode", "OomScoreAdj", "PidsLimit", "ReadonlyRootfs",
    "RestartPolicy", "SecurityOpt", "ShmSize", "Tmpfs", "Ulimits",
}  # fmt: skip


@given(agent=agents, release=releases, cores=st.integers(1, 64))
def test_nothing_a_customer_can_choose_widens_it(agent, release, cores):
    found = sent(spec_of(agent, release), cores)
    host = found["HostConfig"]
    given_keys = {name for name, value in host.items() if value not in (None, [], {}, "", 0, False)}

    assert given_keys <= ALLOWED_HOST
    assert found["User"] == "10001:10001"
    assert (found["Entrypoint"], found["Cmd"], found["Tty"]) == (None, None, False)
    assert (host["CapDrop"], host["ReadonlyRootfs"], host["Init"]) == (["ALL"], True, True)
    assert host["SecurityOpt"] == ["no-new-privileges:true", f"seccomp={seccomp()}"]
    assert (host["IpcMode"], host["RestartPolicy"]["Name"]) == ("private", "unless-stopped")
    assert host["Memory"] == host["MemorySwap"] == release.memory_mb * 2**20
    assert 0 < host["NanoCpus"] <= cores * 10**9
    assert host["PidsLimit"] == CATALOG["hermes"].pids
    assert {(m["Type"], m["Target"], m["ReadOnly"]) for m in host["Mounts"]} == {
        ("bind", "/workspace", False), ("bind", "/roost/id", True), ("bind", "/roost/keys", True),
    }  # fmt: skip
    assert all(
        option.startswith("rw,noexec,nosuid,nodev,size=") for option in host["Tmpfs"].values()
    )
    assert set(host["Tmpfs"]) == {"/tmp", "/run/agent"}
    assert list(found["NetworkingConfig"]["EndpointsConfig"]) == ["roost-golden-00000"]
    assert host["NetworkMode"] == "roost-golden-00000"
    environment = dict(line.split("=", 1) for line in found["Env"])
    assert set(environment) == {
        "ROOST_AGENT", "ROOST_WORKSPACE", "ROOST_WORKSPACE_KIND", "ROOST_RELEASE", "ROOST_SETTINGS",
    }  # fmt: skip
    settings = json.loads(environment["ROOST_SETTINGS"])
    assert settings.pop("base_url", "") == release.base_url
    assert settings == {"provider": release.provider, "model": release.model}


def test_no_secret_is_in_it():
    assert SECRET not in json.dumps(sent(spec_of()))


def test_another_kind_of_isolation_is_the_engines_runtime_and_nothing_else():
    plain, gvisor = sent(spec_of()), sent(replace(spec_of(), isolation="gvisor"))

    assert gvisor["HostConfig"].pop("Runtime") == "runsc"
    assert "Runtime" not in plain["HostConfig"]
    assert gvisor == plain


def test_a_helper_has_no_network_and_three_capabilities():
    with Recorder() as api:
        api.create_container(**helper_arguments(api, "roost/base:1", ["/bin/true"], ()))
        host = api.sent["HostConfig"]

    assert (host["NetworkMode"], host["ReadonlyRootfs"]) == ("none", True)
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], ["CHOWN", "DAC_OVERRIDE", "FOWNER"])
    assert host["SecurityOpt"] == ["no-new-privileges:true"]


PROFILE = json.loads(seccomp())


def rules_of(call: str) -> list[dict]:
    return [rule for rule in PROFILE["syscalls"] if call in rule["names"]]


def test_what_no_rule_names_is_refused():
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in PROFILE["syscalls"]} == {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"}


@pytest.mark.parametrize("call", ["io_uring_setup", "io_uring_enter", "io_uring_register"])
def test_io_uring_is_not_there(call):
    """ENOSYS, so that libraries fall back instead of failing."""
    assert [(rule["action"], rule["errnoRet"]) for rule in rules_of(call)] == [
        ("SCMP_ACT_ERRNO", 38)
    ]


def test_every_socket_but_vsock():
    (rule,) = rules_of("socket")

    assert rule["action"] == "SCMP_ACT_ALLOW"
    assert rule["args"] == [{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]
    assert rules_of("socketcall") == []


def test_no_second_abi():
    assert [arch["subArchitectures"] for arch in PROFILE["archMap"]] == [[], []]


@pytest.mark.parametrize(
    "call",
    ["mount", "umount2", "ptrace_attach", "bpf", "keyctl", "add_key", "request_key", "kexec_load",
     "init_module", "finit_module", "delete_module", "perf_event_open", "userfaultfd", "setns",
     "unshare", "pivot_root", "swapon", "reboot", "open_by_handle_at", "quotactl", "acct",
     "lookup_dcookie", "move_pages", "iopl", "ioperm", "fsopen", "fsmount", "move_mount"],
)  # fmt: skip
def test_what_only_a_host_does_is_in_no_rule(call):
    assert rules_of(call) == []


def test_clone_makes_no_namespace():
    """Every CLONE_NEW… bit is masked; clone3, whose flags a filter cannot see, is ENOSYS."""
    (clone,) = rules_of("clone")
    (clone3,) = rules_of("clone3")

    new = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    assert clone["args"][0]["value"] == sum(new)
    assert clone["args"][0]["op"] == "SCMP_CMP_MASKED_EQ"
    assert (clone3["action"], clone3["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)
