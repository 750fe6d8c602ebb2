"""Adding a runtime is copying a folder: it is built, born, talked to and survives like the rest."""

import shutil
from pathlib import Path

import pytest

import runtimes
from controlplane.agents import actions
from provisioner.images import ensure_images
from runtimes import catalog
from tests.engine.killing import kill_main
from tests.engine.talk import say

FOLDER = Path(__file__).parent / "echo"


@pytest.fixture
def echo(node, tmp_path, monkeypatch) -> catalog.Runtime:
    """The folder, copied to where runtimes are looked for; nothing else is changed."""
    folder = shutil.copytree(FOLDER, tmp_path / "echo")
    monkeypatch.setattr(runtimes, "__path__", [*runtimes.__path__, str(tmp_path)])
    added = catalog.load(folder / "runtime.toml")
    monkeypatch.setitem(catalog.FOUND, "echo", added)
    ensure_images(node.engine, print, [added])
    return added


def test_a_copied_folder_is_a_runtime(echo, backend, go, as_alice):
    agent = actions.create_agent(as_alice, name="fifth", runtime="echo", disk_gib=1, egress="none")
    agent = go(agent)
    assert agent.status == "running", (agent.status, agent.message)
    assert say(backend, agent, "one") == "one"

    kill_main(backend.engine, f"roost-{agent.pk}")
    agent = go(agent)

    assert agent.status == "running", (agent.status, agent.message)
    assert say(backend, agent, "two") == "one / two"
