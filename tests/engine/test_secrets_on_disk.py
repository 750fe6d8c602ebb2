"""A key's value and an agent's own token are nowhere but in the vault and in the key directory's
memory: real Hermes, real vault, searched in every shape."""

import base64
import json
import re
import secrets
import subprocess
from pathlib import Path

import pytest

from controlplane.agents import actions
from controlplane.keys.actions import add_key
from provisioner import names
from provisioner.reconcile import load, reconcile
from tests.engine.conftest import NODE_SETTINGS, wait_for
from tests.engine.killing import kill_main
from tests.engine.searching import in_files, in_image, in_processes, in_text, shapes
from tests.engine.talk import say

CODEWORD = "heron-4711"


def test_a_key_and_a_token_are_in_memory_alone(
    keyed, as_alice, services, state, tmp_path, tmp_path_factory, caplog, capfd
):
    value = f'sk-{secrets.token_hex(12)}$"#{secrets.token_hex(6)}%&+/=$HOME<>'
    key = add_key(
        as_alice, name="main", provider="custom", value=value,
        base_url=NODE_SETTINGS["ROOST_STANDIN_URL"],
    )  # fmt: skip
    agent = actions.create_agent(
        as_alice, name="scout", runtime="hermes", key=key.pk, model="standin", disk_gib=1,
        egress="none",
    )  # fmt: skip
    name = names.container(agent.pk)

    def go():
        assert reconcile(agent.pk, keyed)
        found = load(agent.pk)
        assert found.status == "running", found.message
        return found

    # Born, talked to, killed, replaced: each leaves its own traces.
    agent = go()
    say(keyed, agent, f"Remember: the codeword is {CODEWORD}")
    data = state / "workspaces" / agent.pk / "data"
    (data / "control").write_text(CODEWORD * 3)
    first = searched_places(keyed, name)
    kill_main(keyed.engine, name)
    wait_for(lambda: keyed.engine.inspect(name).restart_count == 1)
    agent = go()
    actions.restart_agent(as_alice, agent)
    agent = go()
    assert CODEWORD in say(keyed, agent, "What is the codeword?")
    told = json.loads((state / "keys" / agent.pk / "keys.json").read_text())
    assert told["provider_key"] == value

    subprocess.run(["sync"], check=True)
    patterns = shapes(value) | shapes(told["gateway"])
    api = keyed.engine._api
    seen = api.inspect_container(name)
    image = api.inspect_image(seen["Image"]), api.history(seen["Image"])
    assert not in_text(patterns, json.dumps([seen, image]).encode())
    assert not in_text(patterns, api.logs(name))
    assert in_processes(patterns) == []
    places = {*first, *searched_places(keyed, name), data, *services_of(tmp_path_factory)}
    assert in_files(patterns, tmp_path, *places) == []
    for disk in (state / "pool" / f"{agent.pk}.img", state / "pool.img"):
        assert not in_image(patterns, disk), disk
    printed = capfd.readouterr()
    assert not in_text(patterns, (caplog.text + printed.out + printed.err).encode())

    # The same search finds what is there.
    control = shapes(CODEWORD * 3)
    assert in_files(patterns, tmp_path, state / "keys") == [
        str(state / "keys" / agent.pk / "keys.json")
    ]
    assert in_files(control, tmp_path, data) == [str(data / "control")]
    assert in_image(control, state / "pool" / f"{agent.pk}.img")
    assert in_image(control, state / "pool.img")
    marked = subprocess.Popen(["sleep", "20"], env={"CONTROL": CODEWORD * 3})
    assert in_processes(control) == [f"{marked.pid} environ"]
    marked.kill()
    marked.wait()


def searched_places(keyed, name: str) -> set[Path]:
    """What the engine and its helpers keep of this container, and of images and networks."""
    api = keyed.engine._api
    seen = api.inspect_container(name)
    root = Path(api.info()["DockerRootDir"])
    layers = seen["GraphDriver"]["Data"]
    helpers = [Path(found) for found in ("/run/docker", "/run/containerd", "/var/lib/containerd")]
    tasks = [
        path
        for helper in helpers
        for path in helper.rglob(f"{seen['Id']}*")
        if not re.search(r"/rootfs(/|$)", str(path))
    ]
    assert tasks, "no runtime bundle of this container was found"
    return {
        root / "containers" / seen["Id"],
        Path(layers["UpperDir"]),
        Path(layers["WorkDir"]),
        root / "image",
        root / "network",
        *tasks,
    }


def services_of(factory: pytest.TempPathFactory) -> list[Path]:
    """Data and logs of PostgreSQL, Valkey and the vault, which keeps the value sealed."""
    found = [
        path
        for folder in factory.getbasetemp().glob("services*")
        for path in folder.iterdir()
        if path.name in {"postgres", "valkey", "openbao", "log", "logs"}
    ]
    assert len(found) >= 3, found
    return found


@pytest.mark.parametrize("value", ["plain-value-123", 'q"$#&+/=%<>', "0123456789abcdef" * 3])
@pytest.mark.parametrize("around", [b"", b"x", b"xy"])
def test_the_search_knows_every_alignment(value, around):

    coded = base64.b64encode(around + value.encode() + b"zzz")

    assert in_text(shapes(value), coded)
    assert in_text(shapes(value), json.dumps({"a": json.dumps({"b": value})}).encode())
    assert not in_text(shapes(value), b"something else altogether, and long enough to be searched")
