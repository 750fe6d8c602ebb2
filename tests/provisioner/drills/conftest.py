import shutil

import pytest

from controlplane.drills.actions import start_drill
from provisioner.reconcile import reconcile
from tests.working import carried_out, meanwhile


@pytest.fixture
def clones(backend, tmp_path, monkeypatch):
    """Each copy is of what `tmp_path/live` holds then."""
    found = backend.workspaces.clones
    found.root = tmp_path
    live = tmp_path / "live"
    live.mkdir()
    (live / "a.txt").write_text("alpha")
    (live / "b.txt").write_text("beta")
    real = found.take

    def take(agent_id: str, clone_id: str) -> float:
        if not found.has(agent_id, clone_id):
            data = tmp_path / clone_id / "data"
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir(parents=True)
            for file in live.iterdir():
                (data / file.name).write_text(file.read_text())
        return real(agent_id, clone_id)

    monkeypatch.setattr(found, "take", take)
    return found


@pytest.fixture
def live(clones, tmp_path):
    return tmp_path / "live"


@pytest.fixture
def asked(as_alice, running, clones):
    return lambda kind="process", **more: start_drill(as_alice, running, kind=kind, **more)


@pytest.fixture
def sweeping(backend, running):
    """Passes over the agent, as the node's sweep makes them."""
    with meanwhile(lambda: reconcile(running.pk, backend), 0.02):
        yield


@pytest.fixture
def carry_out(backend):
    return lambda drill: carried_out(drill, backend)
