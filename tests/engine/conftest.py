"""A whole node for tests: real Docker, loop workspaces, keys on tmpfs, guard, node DNS, stand-in.

An installation of its own (name, network pool, service address, state directory), so it
neither sees nor disturbs another on the same host. Needs root. Whatever an earlier run
left in the engine under this name is removed first.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from django.test import override_settings

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job
from controlplane.keys.vault import get_vault
from controlplane.keys.vault.openbao import OpenBaoVault
from provisioner import guard, host, memory, names, resolver, shutdown
from provisioner.backend import Backend
from provisioner.engines.docker import DockerEngine
from provisioner.images import ensure_images
from provisioner.probe import HttpProber
from provisioner.reach import guard_policy
from provisioner.reconcile import load, reconcile
from provisioner.secrets import TmpfsKeys
from provisioner.workspaces.loop import LoopWorkspaces
from runtimes.catalog import CATALOG
from tests import sharing
from tests.engine.box import Box, box, network_of
from tests.engine.tiny.image import ensure_tiny
from tests.working import carried_out, meanwhile

# One for each process that shares the tests; 10.215 is tests/stack, 10.216 the benchmarks.
INSTALLATION = f"tests{sharing.process() or ''}"
PREFIX = f"10.{216 + sharing.process() if sharing.process() else 214}"
POOL = f"{PREFIX}.0.0/16"
ADDRESS = f"{PREFIX}.255.1"
MODEL_PORT = 8758
ACME, UMBRELLA = 4000, 4001  # blocks of the pool for boxes; the database gives from 0 up
NODE_SETTINGS = {
    "ROOST_INSTALLATION": INSTALLATION,
    "ROOST_NETWORK_POOL": POOL,
    "ROOST_SERVICE_ADDRESS": ADDRESS,
    "ROOST_SERVICE_PORTS": [MODEL_PORT],
    "ROOST_STANDIN_URL": f"http://{ADDRESS}:{MODEL_PORT}/v1",
    "ROOST_OUTBOUND_ALLOW": [f"{ADDRESS}:{MODEL_PORT}"],
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.engine)
            # Passes use threads and connections of their own; emptying all tables takes a second.
            threads = "db_ready" in item.fixturenames  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.django_db(transaction=threads))


@pytest.fixture(scope="module", autouse=True)
def engine_stays() -> Iterator[None]:
    """Containers of a module's fixtures would end with it."""
    with sharing.engine():
        yield


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert os.geteuid() == 0, "These tests mount and set network rules: run them as root."
    return Path(tmp_path_factory.mktemp("node"))


def as_node(state: Path) -> override_settings:
    """The settings of this installation, for a block; no test elsewhere may see them."""
    return override_settings(**NODE_SETTINGS, ROOST_STATE_DIR=state, ROOST_KEYS_DIR=state / "keys")


@pytest.fixture(scope="session")
def node(state: Path, django_db_setup: None, django_db_blocker) -> Iterator[Backend]:
    """The node's parts, set up once; emptied of agents by `backend` around each test."""
    engine = DockerEngine()
    backend = Backend(
        engine=engine,
        workspaces=LoopWorkspaces(state),
        keys=TmpfsKeys(state / "keys"),
        vault=get_vault(),
        prober=HttpProber(),
        guarded=True,
        patience=60,
    )
    try:
        with as_node(state), django_db_blocker.unblock():
            shutdown.clean(backend, print)
            ensure_images(engine, print, [CATALOG["hermes"]])
            backend.workspaces.prepare_node()
            host.ensure_agents_share()
            host.ensure_service_address(ADDRESS)
        with model_server(ADDRESS, MODEL_PORT):
            yield backend
    finally:
        with as_node(state), django_db_blocker.unblock():
            shutdown.clean(backend, print)


@pytest.fixture(scope="session")
def tiny(node: Backend) -> str:
    """The reference of the tiny runtime's image."""
    return ensure_tiny(node.engine)


@pytest.fixture(scope="module")
def acme_box(node: Backend, tiny: str, state: Path) -> Iterator[Box]:
    """A container like an agent's, for a module that only looks out of it."""
    with as_node(state):
        guard.load(policy())
    with box(node, tiny, network_of(INSTALLATION, POOL, ACME), dns=(ADDRESS,)) as made:
        yield made


@pytest.fixture(scope="module")
def neighbour(node: Backend, tiny: str, acme_box: Box) -> Iterator[Box]:
    """Another agent of the same organisation."""
    with box(node, tiny, network_of(INSTALLATION, POOL, ACME), 3, dns=(ADDRESS,)) as made:
        yield made


@pytest.fixture(scope="module")
def stranger(node: Backend, tiny: str, acme_box: Box) -> Iterator[Box]:
    """An agent of another organisation."""
    with box(node, tiny, network_of(INSTALLATION, POOL, UMBRELLA), dns=(ADDRESS,)) as made:
        yield made


def policy(*opened: tuple[str, str], listed: tuple[guard.Listed, ...] = ()) -> guard.Policy:
    """As the database would have it with `opened` agents that may reach the internet, and `listed`
    ones that may reach what they have been told."""
    return guard.Policy(
        installation=INSTALLATION,
        prefix=names.bridge_prefix(INSTALLATION),
        service_address=ADDRESS,
        service_ports=(MODEL_PORT,),
        open=opened,
        listed=listed,
    )


class model_server:  # noqa: N801  reads as a block
    """The stand-in model as its own process."""

    def __init__(self, address: str, port: int) -> None:
        self.url = f"http://{address}:{port}/health"
        self.argv = [
            *(sys.executable, "-m", "uvicorn", "deploy.model.app:app", "--log-level", "warning"),
            *("--host", address, "--port", str(port)),
        ]

    def __enter__(self) -> None:
        self.process = subprocess.Popen(self.argv, env={**os.environ, "ROOST_STANDIN_MODEL": "1"})
        for _ in range(200):
            try:
                if httpx.get(self.url, timeout=1, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise AssertionError("the stand-in model did not come up")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture
def backend(node: Backend, vault, db_ready: None, state: Path) -> Iterator[Backend]:
    """The node with this test's vault; every agent of the test is gone afterwards."""
    with as_node(state):
        memory.path().unlink(missing_ok=True)  # the database of this test has counted nothing
        guard.load(guard_policy())
        mine = Backend(**{**vars(node), "vault": vault})
        with resolver.serving(mine, poll=0.02):
            yield mine
        for agent in Agent.objects.all():
            Agent.objects.filter(pk=agent.pk).update(goal="deleted", generation=10_000)
            reconcile(agent.pk, mine)
            mine.workspaces.destroy(agent.pk)


@pytest.fixture
def db_ready(transactional_db: None) -> None:
    return


@pytest.fixture
def go(backend: Backend) -> Callable[[Agent], Agent]:
    def one_pass(agent: Agent) -> Agent:
        assert reconcile(agent.pk, backend)
        return load(agent.pk)

    return one_pass


@pytest.fixture
def running(backend: Backend, go: Callable[[Agent], Agent], as_alice) -> Agent:
    agent = create_agent(
        as_alice, name="scout", runtime="hermes", size="small", disk_gib=1, egress="none"
    )
    agent = go(agent)
    assert agent.status == "running", (agent.status, agent.message)
    return agent


@pytest.fixture
def hanging_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """DOCKER_HOST is a socket that takes every connection and never says a word."""
    path = tmp_path / "hangs.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(64)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        yield


def vault_as(role: str, services) -> OpenBaoVault:
    with override_settings(
        VAULT_ADDR=services["VAULT_ADDR"],
        VAULT_MOUNT=services["VAULT_MOUNT"],
        VAULT_ROLE_ID=services[f"VAULT_{role}_ROLE_ID"],
        VAULT_SECRET_ID=services[f"VAULT_{role}_SECRET_ID"],
    ):
        made = OpenBaoVault()
        made.session._fresh()  # signs in while these settings hold
    return made


@pytest.fixture
def keyed(backend, services, monkeypatch):
    """The node with the real vault and the provisioner's role; the control plane with the web's."""
    web = vault_as("WEB", services)
    monkeypatch.setattr("controlplane.keys.actions.get_vault", lambda: web)
    return replace(backend, vault=vault_as("PROVISIONER", services))


def wait_for(check: Callable[[], bool], seconds: float = 30) -> None:
    """Until `check` holds; bounded, because a test that hangs proves nothing."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.1)


@pytest.fixture
def carry_out(backend: Backend) -> Callable[[Job], Job]:
    return lambda job: carried_out(job, backend)


@pytest.fixture
def sweeping(backend: Backend, running: Agent) -> Iterator[None]:
    """Passes over the agent, as the node's sweep makes them."""
    with meanwhile(lambda: reconcile(running.pk, backend), 0.2):
        yield
