import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.agents import releases
from controlplane.jobs.claim import claim
from controlplane.snapshots.models import Restore
from controlplane.upgrades.actions import upgrade_agent
from provisioner.jobs.kinds import KINDS
from provisioner.reconcile import reconcile
from provisioner.upgrades import health
from tests.working import carried_out, meanwhile

NEXT = "roost/hermes:next"
CONFIG = "model:\n  default: a\nmcp_servers:\n  - url: http://10.0.0.1\n"


class Disk:
    """What the agent's workspace holds: `live`. Copies are folders beside it."""

    def __init__(self, root: Path, clones) -> None:
        self.root, self.clones, self.live = root, clones, root / "live"
        self._take, self._put = clones.take, clones.put_in_place
        (self.live / ".hermes").mkdir(parents=True)
        (self.live / "work.txt").write_text("half done")
        (self.live / ".hermes" / "config.yaml").write_text(CONFIG)

    def take(self, agent_id: str, clone_id: str) -> float:
        if self.clones.has(agent_id, clone_id):
            return 0.0
        shutil.rmtree(self.root / clone_id, ignore_errors=True)
        shutil.copytree(self.live, self.root / clone_id / "data")
        return self._take(agent_id, clone_id)

    def put_in_place(self, agent_id: str, clone_id: str, *, keep_as: str, mark: str) -> None:
        self._put(agent_id, clone_id, keep_as=keep_as, mark=mark)
        shutil.move(self.live, self.root / keep_as / "data")
        shutil.copytree(self.root / clone_id / "data", self.live)

    def files(self) -> dict[str, str]:
        found = (path for path in self.live.rglob("*") if path.is_file())
        return {str(path.relative_to(self.live)): path.read_text() for path in found}


@pytest.fixture
def disk(backend, tmp_path, monkeypatch) -> Disk:
    clones = backend.workspaces.clones
    clones.root = tmp_path
    found = Disk(tmp_path, clones)
    monkeypatch.setattr(clones, "take", found.take)
    monkeypatch.setattr(clones, "put_in_place", found.put_in_place)
    return found


class Image:
    """What the new image does when it boots; well-behaved unless a test says otherwise."""

    def __init__(self) -> None:
        self.dies = False  # before it answers
        self.ends = False  # after it answered
        self.does = lambda: None  # at its first boot


@pytest.fixture
def image(running, monkeypatch) -> Image:
    """There is a newer image for the agent."""
    monkeypatch.setattr(releases, "image_of", lambda runtime: NEXT)
    return Image()


@pytest.fixture
def asked(as_alice, running, disk, image):
    return lambda **more: upgrade_agent(as_alice, running, **more)


@pytest.fixture
def sweeping(backend, engine, container, running, image, monkeypatch) -> Iterator[None]:
    """A node at work: passes over the agent, restores taken up, and the new image's doings."""
    booted = []

    def boots() -> bool:
        """Whether the new image is up; at its first boot it does what it does."""
        spec = engine.specs.get(container)
        up = bool(spec and spec.image == NEXT and container in engine.kept)
        if up and not booted:
            booted.append(True)
            image.does()
        return up

    def well(target, seconds: float) -> bool:
        return not (boots() and image.dies)

    monkeypatch.setattr(backend.prober, "wait", well)
    monkeypatch.setattr(health, "STEADY_S", 0.3)

    def sweep() -> None:
        if boots() and (image.dies or image.ends):
            engine.kill(container, exit_code=1)
        reconcile(running.pk, backend)

    def restore() -> None:
        for row in Restore.objects.under_way():
            if (found := claim(Restore, row.agent.node, row.pk)) is not None:
                KINDS["snapshots.restore"].run(found, backend)

    with meanwhile(sweep, 0.02), meanwhile(restore, 0.02):
        yield


@pytest.fixture
def carry_out(backend):
    return lambda job: carried_out(job, backend)
