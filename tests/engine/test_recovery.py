"""Told a codeword, killed in each way, asked again: promise 1 on the real engine."""

import os
import signal
import subprocess

import pytest

from controlplane.agents import actions
from provisioner import names
from tests.engine.conftest import INSTALLATION
from tests.engine.talk import say

CODEWORD = "heron-4711"


def kill_main_process(backend, agent):
    """The process under the engine's init, from the host."""
    init = backend.engine._api.inspect_container(names.container(agent.pk))["State"]["Pid"]
    children = subprocess.run(
        ["pgrep", "-P", str(init)], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(children[0]), signal.SIGKILL)


def kill_init(backend, agent):
    init = backend.engine._api.inspect_container(names.container(agent.pk))["State"]["Pid"]
    os.kill(init, signal.SIGKILL)


def docker_kill(backend, agent):
    backend.engine._api.kill(names.container(agent.pk))


def docker_remove(backend, agent):
    backend.engine._api.remove_container(names.container(agent.pk), force=True)


def docker_pause(backend, agent):
    backend.engine._api.pause(names.container(agent.pk))


def remove_network(backend, agent):
    docker_remove(backend, agent)
    for network in backend.engine.networks(names.mine(INSTALLATION)):
        backend.engine.ensure_network_removed(network)


def reboot(backend, agent):
    """The host lost power: container down, mounts and keys gone."""
    backend.engine._api.kill(names.container(agent.pk))
    backend.keys.withdraw(agent.pk)
    backend.workspaces.release(agent.pk)


WAYS = [
    kill_main_process,
    kill_init,
    docker_kill,
    docker_remove,
    docker_pause,
    remove_network,
    reboot,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_codeword_survives(backend, running, go, way):
    say(backend, running, f"Remember: the codeword is {CODEWORD}")

    way(backend, running)
    running = go(running)

    assert running.status == "running", (running.status, running.message)
    assert CODEWORD in say(backend, running, "What is the codeword?")


def test_a_codeword_survives_stop_and_start(backend, running, go, as_alice):
    say(backend, running, f"Remember: the codeword is {CODEWORD}")
    actions.stop_agent(as_alice, running)
    assert go(running).status == "stopped"

    actions.start_agent(as_alice, running)
    running = go(running)

    assert running.status == "running", (running.status, running.message)
    assert CODEWORD in say(backend, running, "What is the codeword?")
