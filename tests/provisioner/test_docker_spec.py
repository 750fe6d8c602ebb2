"""What is sent to Docker for an agent: compared with a golden file, and bounded for any input."""

import json
import string
from dataclasses import fields, replace
from pathlib import Path

import pytest
from docker.errors import NotFound
from hypothesis import given
from hypothesis import strategies as st

from controlplane.agents.models import Agent, Release
from controlplane.agents.rules import MODEL
from controlplane.agents.sizes import DISK_GIB, SIZES
from controlplane.keys.models import Key, Provider
from provisioner.engines.base import Apart, NetworkSpec
from provisioner.engines.docker import DockerEngine
from provisioner.engines.docker_spec import (
    apart_arguments,
    helper_arguments,
    network_arguments,
    seccomp,
)
from provisioner.spec import Place, container_spec
from provisioner.workspaces.base import Mounted
from runtimes.catalog import CATALOG
from tests.provisioner.sending import Recorder, assert_inside, sent

GOLDEN = Path(__file__).parent / "golden"
SECRET = "sk-never-in-a-container-spec"


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
    release.agent = agent
    place = place or Place(
        installation="golden",
        workspace=Mounted(
            Path(f"/state/ws/{agent.pk}/data"), Path(f"/state/ws/{agent.pk}/id"), "loop"
        ),
        keys_dir=f"/state/keys/{agent.pk}",
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

    assert found == json.loads((GOLDEN / "container.json").read_text())


def test_the_network_is_the_golden_one():
    spec = NetworkSpec(
        "roost-golden-00000", "ag0000-00000", "10.213.0.0/28", "10.213.0.1", {"roost.x": "y"}
    )

    found = json.loads(json.dumps(network_arguments(spec)))
    assert found == json.loads((GOLDEN / "network.json").read_text())


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
    egress=st.sampled_from(["open", "list", "none"]),
    egress_hosts=st.lists(printable, max_size=3),
    isolation=st.sampled_from(["default", "gvisor"]),
    background=st.booleans(),
)
agents = st.builds(
    Agent,
    id=names.map("agt_".__add__),
    organisation_id=names.map("org_".__add__),
    name=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    restart_serial=st.integers(0, 2**31 - 1),
)


@given(agent=agents, release=releases, cores=st.integers(1, 64))
def test_nothing_a_customer_can_choose_widens_it(agent, release, cores):
    found = sent(spec_of(agent, release), cores)

    assert_inside(found, state="/state", images={release.image}, cores=cores)
    environment = dict(line.split("=", 1) for line in found["Env"])
    settings = json.loads(environment["ROOST_SETTINGS"])
    assert settings.get("base_url", "") == release.base_url
    assert (settings["provider"], settings["model"]) == (release.provider, release.model)


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


def test_what_runs_apart_has_an_agents_rights_and_no_network():
    """And it ends by itself, whoever is left to end it."""
    agent = spec_of()
    shared = {field.name for field in fields(Apart)} & {field.name for field in fields(agent)}
    same = {name: getattr(agent, name) for name in shared}
    with Recorder() as api:
        apart = Apart(**same, argv=("hermes", "migrate"))
        api.create_container(**apart_arguments(api, apart, 4, 600))

    assert api.sent["name"] == agent.name
    assert api.sent["Entrypoint"] == ["timeout", "--kill-after=10", "660", "hermes", "migrate"]
    assert (api.sent["User"], api.sent["Hostname"]) == ("10001:10001", "agent")
    found, whole = api.sent["HostConfig"], sent(agent)["HostConfig"]
    other = {key for key in {*found, *whole} if found.get(key) != whole.get(key)}
    assert other == {"NetworkMode", "Dns", "LogConfig", "RestartPolicy"}
    assert (found["NetworkMode"], "RestartPolicy" in found) == ("none", False)
    assert found["NanoCpus"] == 10**9


def test_one_whose_starter_was_killed_goes_before_the_next():
    class Engine(Recorder):
        def __init__(self) -> None:
            super().__init__()
            self.there, self.seen = {"roost-agt_x-apart"}, []

        def inspect_image(self, reference):
            return {}

        def remove_container(self, name, force, v=False):
            self.seen.append(("removed", name))
            if name not in self.there:
                raise NotFound("no such container")
            self.there.remove(name)

        def create_container_from_config(self, config, name=None, platform=None):
            assert name not in self.there
            self.seen.append(("made", name))
            self.there.add(name)
            return {"Id": name}

        def start(self, made):
            return None

        def inspect_container(self, made):
            return {"State": {"Running": False, "ExitCode": 3}}

        def logs(self, made, tail):
            return b"said"

    apart = Apart(
        name="roost-agt_x-apart", image="roost/hermes:1-abc", argv=("true",), environment={},
        binds=(), memory_mb=512, cpu_millis=500, pids=64, tmp_mb=16,
    )  # fmt: skip
    engine = DockerEngine()
    with Engine() as api:
        vars(engine).update(_api=api, _cores=4)
        assert [engine.run_apart(apart, 5), engine.run_apart(apart, 5)] == [(3, "said")] * 2

    assert api.there == set()
    assert api.seen[:2] == [("removed", apart.name), ("made", apart.name)]


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


def test_four_families_of_sockets_and_no_other():
    """Local, IPv4, IPv6, netlink: no AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, ..."""
    rules = rules_of("socket")

    assert {rule["action"] for rule in rules} == {"SCMP_ACT_ALLOW"}
    assert [rule["args"] for rule in rules] == [
        [{"index": 0, "value": family, "op": "SCMP_CMP_EQ"}] for family in (1, 2, 10, 16)
    ]
    assert rules_of("socketcall") == []


def test_no_second_abi():
    assert [arch["subArchitectures"] for arch in PROFILE["archMap"]] == [[], []]


@pytest.mark.parametrize(
    "call",
    ["mount", "umount2", "bpf", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
     "name_to_handle_at", "mount_setattr", "open_tree", "fanotify_init", "syslog", "settimeofday",
     "keyctl", "add_key", "request_key", "kexec_load", "init_module", "finit_module",
     "delete_module", "perf_event_open", "userfaultfd", "setns", "unshare", "pivot_root",
     "swapon", "reboot", "open_by_handle_at", "quotactl", "acct", "lookup_dcookie", "move_pages",
     "iopl", "ioperm", "fsopen", "fsmount", "move_mount"],
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
