"""A worker is killed with -9 before each of its deeds; the next pass leaves one agent and nothing
else."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from django.db import connection

from controlplane.agents import actions
from controlplane.agents.lease import TTL
from controlplane.agents.models import Agent, Release
from provisioner import guard, names
from provisioner.models import Address, Block
from provisioner.reconcile import load, reconcile
from provisioner.workspaces.mounts import mounts_below
from tests.engine.box import TOKEN
from tests.engine.conftest import ADDRESS, INSTALLATION, MODEL_PORT, POOL, wait_for

MOST = 60  # deeds of one pass; more would mean that it goes round in circles


class Worker:
    def __init__(self, services, state) -> None:
        base = urlsplit(services["DATABASE_URL"])
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
            "DATABASE_URL": base._replace(path="/" + connection.settings_dict["NAME"]).geturl(),
            "PYTHONPATH": os.pathsep.join(["platform", "."]),
            "ROOST_INSTALLATION": INSTALLATION,
            "ROOST_NETWORK_POOL": POOL,
            "ROOST_SERVICE_ADDRESS": ADDRESS,
            "ROOST_SERVICE_PORTS": str(MODEL_PORT),
            "ROOST_STATE_DIR": str(state),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.mortal"],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def one_pass(self, agent: Agent, last: int) -> list[str] | None:
        """None when it was killed, else all its deeds."""
        order = {"agent": agent.pk, "last": last, "token": TOKEN}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        if told["code"] == -9:
            return None
        assert told["code"] == 0, told
        return json.loads(told["deeds"])

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


@pytest.fixture
def worker(services, state, backend):
    made = Worker(services, state)
    yield made
    made.close()


@pytest.fixture
def mine(backend):
    return replace(backend, patience=20)


def born(access, tiny, vault, number) -> Agent:
    agent = actions.create_agent(
        access, name=f"scout-{number}", runtime="hermes", disk_gib=1, egress="open"
    )
    Release.objects.filter(agent=agent).update(image=tiny)
    vault.write(f"agents/{agent.pk}", {"gateway": TOKEN})
    return agent


def settle(agent: Agent, backend) -> Agent:
    """Once the dead worker's lease has run out; a slow one had renewed it for its full time."""
    wait_for(lambda: reconcile(agent.pk, backend), TTL.total_seconds() + 15)
    return load(agent.pk)


def left_over(agent: Agent, backend) -> dict[str, object]:
    """All that there is of it on the node and in the tables."""
    containers = backend.engine.containers(names.mine(INSTALLATION))
    pool = backend.workspaces.pool
    return {
        "containers": [(one.name, one.state) for one in containers],
        "networks": len(backend.engine.networks(names.mine(INSTALLATION))),
        "mounts": [p.name for p in mounts_below(backend.workspaces.points)],
        "keys": [path.name for path in backend.keys.root.glob("*")],
        "keys mounted": [p.name for p in mounts_below(backend.keys.root)],
        "disks": sorted(
            path.name for path in pool.rglob("*") if path.is_file() and path.suffix != ".lock"
        ),
        "rows": (Address.objects.count(), Block.objects.count()),
        "open": agent.pk in open_agents(),
        "lease": (load(agent.pk).lease_owner, load(agent.pk).lease_until),
    }


def open_agents() -> set[str]:
    """Whose address the guard lets out."""
    argv = ["nft", "-j", "list", "set", "inet", guard.table_name(INSTALLATION), "open"]
    listed = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    elements = listed["nftables"][1]["set"].get("elem", [])
    addresses = {element["concat"][1] for element in elements}
    return set(Agent.objects.filter(address__in=addresses).values_list("pk", flat=True))


def expected(agent: Agent, status: str) -> dict[str, object]:
    name, up = names.container(agent.pk), status == "running"
    there = status != "deleted"
    return {
        "containers": [(name, "running" if up else "exited")] if there else [],
        "networks": 1 if there else 0,
        "mounts": [agent.pk] if up else [],
        "keys": [agent.pk] if up else [],
        "keys mounted": [agent.pk] if up else [],
        "disks": [f"{agent.pk}.img"],
        "rows": (1, 1) if there else (0, 0),
        "open": there,
        "lease": ("", None),
    }


def proven(deeds: dict[str, list[str]]) -> set[str]:
    """What need not be gone through once more; a start needs its stop."""
    both = {"stop", "start"}
    return ({"restart"} & deeds.keys()) | (both if both <= deeds.keys() else set())


def test_killed_before_every_deed(worker, mine, as_alice, tiny, vault):
    """Birth, restart, stop, start and death of one agent after the other, each pass one deed
    further than the last one's, until all five come to their end."""
    life = [
        ("birth", "running", lambda agent: None),
        ("restart", "running", lambda agent: actions.restart_agent(as_alice, agent)),
        ("stop", "stopped", lambda agent: actions.stop_agent(as_alice, agent)),
        ("start", "running", lambda agent: actions.start_agent(as_alice, agent)),
        ("death", "deleted", lambda agent: actions.delete_agent(as_alice, agent)),
    ]
    deeds: dict[str, list[str]] = {}
    killed = dict.fromkeys((name for name, _, _ in life), 0)
    for last in range(1, MOST):
        agent = born(as_alice, tiny, vault, last)
        for name, status, wish in life:
            if name in proven(deeds):
                continue
            wish(agent)
            if name not in deeds:
                lived = worker.one_pass(agent, last)
                if lived is None:
                    killed[name] += 1
                else:
                    deeds[name] = lived
            agent = settle(agent, mine)
            where = f"{name}, killed before deed {last}"
            assert (agent.status, agent.reason) == (status, ""), (where, agent.message)
            assert left_over(agent, mine) == expected(agent, status), where
        mine.workspaces.destroy(agent.pk)
        if len(deeds) == len(life):
            break
    assert set(deeds) == set(killed)
    assert any("mkfs.ext4" in deed for deed in deeds["birth"])
    assert any("/containers/create" in deed for deed in deeds["restart"])
    assert sum(killed.values()) > 60
