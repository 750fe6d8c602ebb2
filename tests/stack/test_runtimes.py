"""One suite over every runtime of the catalogue, on a whole installation: born without a person,
talked to with every provider, killed in every way, searched for keys, probed from inside."""

import base64
import json
import secrets
import socket
import threading
import time

import pytest

from runtimes.catalog import CATALOG
from tests.stack.fleet import ALL_BOOT_S, Fleet, Hosted, docker
from tests.stack.stack import Stack

CODEWORD = "heron-4711"
PROVIDERS = [(slug, provider) for slug in CATALOG for provider in CATALOG[slug].providers]
every_runtime = pytest.mark.parametrize("slug", CATALOG)


@pytest.fixture(scope="module")
def keys(stack: Stack) -> dict[str, tuple[str, str]]:
    """A key for each provider, all answered by the stand-in: provider -> (its id, its value)."""
    providers = ("anthropic", "openai", "gemini", "custom")
    return {provider: add_key(stack, provider, provider) for provider in providers}


def add_key(stack: Stack, name: str, provider: str) -> tuple[str, str]:
    """Its id and its value; the stand-in answers to it."""
    prefix = {"anthropic": "sk-ant-", "openai": "sk-", "gemini": "AIza"}.get(provider, "")
    value = f"{prefix}{secrets.token_hex(20)}"
    body = {"name": name, "provider": provider, "value": value, "base_url": model(stack)}
    answer = stack.api("POST", "/keys", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], value


def model(stack: Stack) -> str:
    """The stand-in's address, as agents of this installation reach it."""
    demo = json.loads(docker("inspect", f"roost-{stack.facts['agent']}"))[0]
    environment = dict(line.split("=", 1) for line in demo["Config"]["Env"])
    return str(json.loads(environment["ROOST_SETTINGS"])["base_url"])


def test_eight_created_at_once_all_get_ready(fleet: Fleet, stack: Stack) -> None:
    born = fleet.create_all_twice()

    for agent in born:
        agent.wait_running(ALL_BOOT_S)

    assert len(born) == 8
    assert all(agent.shown()["message"] == "" for agent in born)
    for agent in born[len(CATALOG) :]:
        assert stack.api("DELETE", agent.path).status_code == 202


@pytest.mark.parametrize(("slug", "provider"), PROVIDERS)
def test_a_turn_with_every_provider(fleet, keys, slug: str, provider: str) -> None:
    fleet[slug].change(key=keys[provider][0], model="standin")

    said = fleet[slug].say(f"Remember: the codeword is {CODEWORD}")

    assert said
    assert CODEWORD in fleet[slug].say("What is the codeword?")


@every_runtime
def test_what_it_wrote_in_every_folder_survives_kill_9(fleet, slug: str) -> None:
    agent = fleet[slug]
    agent.say(f"Remember: the codeword is {CODEWORD}")
    before = planted(agent)

    agent.kill_main()
    agent.wait(lambda shown: shown["status"] != "running", 60)
    agent.wait_running()

    assert CODEWORD in agent.say("What is the codeword?")
    assert still_there(agent) == before


@every_runtime
def test_two_kills_in_a_row_leave_no_lock_behind(fleet, slug: str) -> None:
    agent = fleet[slug]
    before = planted(agent)

    docker("kill", agent.container)
    agent.wait(lambda shown: agent.inspect()["State"]["Running"], 120)
    time.sleep(1)  # in the middle of its boot
    docker("rm", "-f", agent.container)
    agent.wait(lambda shown: shown["status"] != "running", 60)
    agent.wait_running()

    assert CODEWORD in agent.say("What is the codeword?")
    assert still_there(agent) == before


@every_runtime
def test_a_stop_in_the_middle_of_a_turn(fleet, slug: str) -> None:
    agent = fleet[slug]
    turn = threading.Thread(target=lambda: asked(agent, "SLOW 20 What is the codeword?"))
    turn.start()
    time.sleep(3)

    agent.verb("stop")
    agent.wait(lambda shown: shown["status"] == "stopped", agent.runtime.stop_grace_s + 60)
    agent.verb("start")
    agent.wait_running()
    turn.join(120)

    assert not turn.is_alive()
    assert CODEWORD in agent.say("What is the codeword?")


def asked(agent: Hosted, text: str) -> None:
    """A message whose answer nobody needs."""
    agent.stack.api("POST", f"{agent.path}/messages", json={"text": text})


@every_runtime
def test_a_key_that_was_rotated_is_live(fleet, stack: Stack, slug: str) -> None:
    agent = fleet[slug]
    key, _ = add_key(stack, f"rotated-{slug}", "custom")
    agent.change(key=key, model="standin")
    value = secrets.token_hex(20)

    answer = agent.stack.api("POST", f"/keys/{key}/rotate", json={"value": value})
    assert answer.status_code == 200, answer.text
    agent.wait_running()

    told = agent.stack.api("GET", f"/keys/{key}/agents").json()["items"]
    assert [row["result"] for row in told if row["agent"] == agent.id] == ["live"]
    assert json.loads(agent.run("cat", "/roost/keys/keys.json"))["provider_key"] == value
    assert agent.say("What is the codeword?")


@every_runtime
def test_named_secrets_arrive_byte_for_byte(fleet, slug: str) -> None:
    agent = fleet[slug]
    text = (
        'a $HOME "quoted" \'single\' # {"json": [1]} \\n\nline \u00e9\u4e2d\U0001f600 '
        + "x" * 30_000
    )
    blob = bytes(range(256)) * 128
    mine = f"MY_{slug.upper()}"
    made = [
        secret(agent, f"{mine}_TEXT", "env", {"value": text}),
        secret(agent, f"{mine}_BLOB", "file", {"value_base64": b64(blob)}),
    ]

    agent.change(secrets=made)

    environment = environment_of(agent)
    assert environment[f"{mine}_TEXT".encode()] == text.encode()
    path = environment[f"{mine}_BLOB".encode()].decode()
    show = "import sys; sys.stdout.write(open(sys.argv[1], 'rb').read().hex())"
    assert agent.run("python3", "-c", show, path) == blob.hex()


def secret(agent: Hosted, name: str, kind: str, value: dict[str, str]) -> str:
    answer = agent.stack.api("POST", "/secrets", json={"name": name, "kind": kind, **value})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def environment_of(agent: Hosted) -> dict[bytes, bytes]:
    """Of its main process, from the host."""
    with open(f"/proc/{agent.main_process()}/environ", "rb") as file:
        lines = file.read().split(b"\0")
    return dict(line.split(b"=", 1) for line in lines if b"=" in line)


@every_runtime
def test_no_key_lies_on_any_disk(fleet, slug: str) -> None:
    """After turns, kills, a stop in a turn, a rotation: everything above."""
    agent = fleet[slug]
    agent.say("What is the codeword?")

    started = agent.stack.api("POST", f"{agent.path}/scans", json={})
    assert started.status_code == 202, started.text
    path = f"{agent.path}/scans/{started.json()['id']}"
    ends = {"done", "failed"}
    agent.stack.wait(lambda: agent.stack.api("GET", path).json()["status"] in ends, 300)

    scan = agent.stack.api("GET", path).json()
    assert (scan["status"], scan["findings"], scan["unseen"]) == ("done", 0, 0), scan


@every_runtime
def test_its_container_is_locked_down(fleet, slug: str) -> None:
    host = fleet[slug].inspect()["HostConfig"]

    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
    assert not host["PortBindings"]
    assert host["PidsLimit"] == CATALOG[slug].pids
    assert host["Memory"] == host["MemorySwap"] > 0


# Run inside as the agent; prints what each attempt came to.
PROBE = """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
def attempt(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "OK"
print(json.dumps({
    "mount": attempt(lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None)),
    "raw": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
    "vsock": attempt(lambda: socket.socket(40, socket.SOCK_STREAM)),
    "io_uring": attempt(lambda: call("syscall", 425, 8, 0)),
    "root": attempt(lambda: open("/etc/planted", "w")),
    "root2": attempt(lambda: open("/opt/roost/boot.py", "a")),
    "identity": attempt(lambda: open("/roost/id/workspace.json", "a")),
    "keys": attempt(lambda: open("/roost/keys/keys.json", "a")),
}))
"""
EXPECTED = {
    "mount": "EPERM",
    "raw": "EPERM",
    "vsock": "EPERM",
    "io_uring": "ENOSYS",
    "root": "EROFS",
    "root2": "EACCES",
    "identity": "EACCES",
    "keys": "EACCES",
}


@every_runtime
def test_what_it_tries_from_inside_is_refused(fleet, slug: str) -> None:
    assert json.loads(fleet[slug].run("python3", "-c", PROBE)) == EXPECTED


REACH = """
import json, socket, sys
def reaches(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as line:
        line.settimeout(3)
        try:
            line.connect((host, int(port)))
        except OSError:
            return False
    return True
print(json.dumps({f"{host} {port}": reaches(host, port) for host, port in json.loads(sys.argv[1])}))
"""


@every_runtime
def test_it_reaches_its_model_and_nothing_else_of_ours(fleet, stack: Stack, slug: str) -> None:
    agent = fleet[slug]
    neighbour = fleet["hermes" if slug != "hermes" else "opensre"]
    network = next(iter(agent.inspect()["NetworkSettings"]["Networks"].values()))
    other = next(iter(neighbour.inspect()["NetworkSettings"]["Networks"].values()))
    service, port = model(stack).removeprefix("http://").split("/")[0].split(":")
    base = int(stack.environment["ROOST_PORT"])
    ours = [base, base + 2, base + 3]  # web, gateway, vault
    closed = [
        *((network["Gateway"], number) for number in ours),
        *((service, number) for number in ours),
        ("169.254.169.254", 80),
        ("127.0.0.1", base),
        (other["IPAddress"], neighbour.runtime.port),
        ("::ffff:169.254.169.254", 80),
        ("fe80::1", base),
    ]
    with socket.create_connection((service, int(port)), 5):
        pass  # there is somebody to be reached

    told = json.loads(agent.run("python3", "-c", REACH, json.dumps([(service, port), *closed])))

    assert told.pop(f"{service} {port}") is True
    assert told == dict.fromkeys((f"{host} {number}" for host, number in closed), False)


def planted(agent: Hosted) -> dict[str, str]:
    """A file in the workspace and in every folder its runtime keeps state in; their hashes."""
    token = secrets.token_hex(8)
    script = (
        "import pathlib, sys\n"
        "for folder in sys.argv[2:]:\n"
        "    path = pathlib.Path(folder, 'planted', 'file.txt')\n"
        "    path.parent.mkdir(parents=True, exist_ok=True)\n"
        "    path.write_text(sys.argv[1] * 100)\n"
    )
    agent.run("python3", "-c", script, token, *folders(agent))
    return still_there(agent)


def folders(agent: Hosted) -> list[str]:
    """The workspace, and those of the runtime's state paths that are folders."""
    found = ["/workspace"]
    for path in agent.runtime.state_paths:
        if (agent.workspace / path.removeprefix("/workspace").lstrip("/")).is_dir():
            found.append(path)
    return found


def still_there(agent: Hosted) -> dict[str, str]:
    return {
        f"{folder} {name}": found
        for folder in folders(agent)
        for name, found in agent.manifest(
            f"{folder.removeprefix('/workspace').lstrip('/')}/planted".lstrip("/")
        ).items()
    }
