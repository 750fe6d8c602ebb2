"""An agent with secrets of every kind, on a node whose places are folders of this test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.jobs.claim import claim
from controlplane.keys.actions import add_key
from controlplane.scans.actions import start_scan
from controlplane.scans.models import OperatorReport, Scan
from provisioner import names
from provisioner.backend import Backend
from provisioner.engines.base import Footprint
from provisioner.scan.needles import Needles, Secret
from provisioner.scan.packed import Budget
from provisioner.scan.place import Place
from provisioner.scan.run import run
from provisioner.workspaces.base import Kept

VALUE = b'sk-ant-api03-Zq"$#/+&=<9>_' + b"k3yK3Yx" * 6
KEY = "sk-ant-api03-" + "s3cretS3CRET" * 4


@pytest.fixture
def needles() -> Needles:
    return Needles([Secret("provider key main", VALUE, 3)])


@pytest.fixture
def place(needles: Needles) -> Place:
    return Place("workspace", "Workspace", needles, lambda amount: None)


@pytest.fixture
def budget() -> Budget:
    return Budget()


@dataclass(frozen=True)
class Node:
    """Folders in the place of what a node keeps of an agent."""

    root: Path

    def __getattr__(self, name: str) -> Path:
        return self.root / name

    def plant(self, where: str, text: bytes, name: str = "notes.txt") -> Path:
        path: Path = self.root / where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        return path


@pytest.fixture
def node(tmp_path: Path, settings: Any, services: dict[str, str]) -> Node:
    made = Node(tmp_path)
    for folder in ("workspace", "image", "container", "metadata", "logs", "state/log", "copies"):
        (tmp_path / folder).mkdir(parents=True)
    settings.ROOST_STATE_DIR = tmp_path / "state"
    settings.ROOST_LOG_DIR = tmp_path / "state" / "log"
    settings.ROOST_KEYS_DIR = tmp_path / "state" / "keys"
    settings.REDIS_URL = services["REDIS_URL"]
    return made


@pytest.fixture
def agent(as_alice: Any, db: None) -> Agent:
    key = add_key(as_alice, name="main", provider="anthropic", value=KEY)
    return create_agent(as_alice, name="scout", runtime="hermes", key=key.pk)


@pytest.fixture
def kept(backend: Backend, running: Agent, node: Node) -> Agent:
    """The agent runs, and what the node keeps of it lies in those folders."""
    backend.engine.footprints[names.container(running.pk)] = Footprint(
        metadata=(str(node.metadata),),
        logs=(str(node.logs / "container.log"),),
        writable=(str(node.container),),
        image=(str(node.image),),
        shared=(str(node.networks),),
        told={"inspect": b"{}"},
    )
    backend.workspaces.places[running.pk] = Kept(node.workspace, copies=(node.copies,))
    node.plant("logs", b"up\n", "container.log")
    return running


@pytest.fixture
def scan(as_alice: Any, kept: Agent, backend: Backend) -> Any:
    """A whole scan; returns it as it is afterwards."""

    def go() -> Scan:
        asked = start_scan(as_alice, kept)
        claimed = claim(Scan, kept.node, asked.pk)
        assert claimed is not None
        run(claimed, backend)
        return Scan.objects.get(pk=asked.pk)

    return go


def found(scan: Scan) -> list[tuple[str, str]]:
    return [(one["place"], one["path"]) for one in scan.report["report"]["findings"]]


def told_to_operators(scan: Scan) -> dict[str, Any]:
    told: dict[str, Any] = OperatorReport.objects.get(pk=scan.pk).report["report"]
    return told


def found_for_operators(scan: Scan) -> list[tuple[str, str]]:
    return [(one["place"], one["path"]) for one in told_to_operators(scan)["findings"]]
