"""A worker's process whose passes end by `kill -9` just before their N-th deed.

A deed is what changes something outside the process: a request to the engine that is no question,
a tool (mkfs, mount, nft), a file renamed into place, an address taken or given back, a write of
the lease. Started once, it forks for each pass: one line of JSON in, one line out.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

LEASE = timedelta(seconds=0.05)  # a dead worker's claim must not hold up the test
QUESTIONS = ["nft", "list"]


class Deeds:
    """Counts, and kills this process before number `last`."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.names: list[str] = []

    def count(self, name: str) -> None:
        if len(self.names) + 1 == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)

    def before(self, owner: Any, attribute: str, name: Callable[..., str]) -> None:
        real = getattr(owner, attribute)

        def counted(*args: Any, **kwargs: Any) -> Any:
            if said := name(*args, **kwargs):
                self.count(said)
            return real(*args, **kwargs)

        setattr(owner, attribute, counted)


def watch(deeds: Deeds) -> None:
    import docker

    from controlplane.agents.lease import Lease
    from provisioner import networks

    real_claim = Lease.claim
    Lease.claim = classmethod(  # type: ignore[method-assign]
        lambda cls, agent: deeds.count("claim") or real_claim(agent, LEASE)
    )
    deeds.before(Lease, "write", lambda lease, **columns: f"write {' '.join(columns)}")
    deeds.before(Lease, "release", lambda lease: "release")
    deeds.before(networks, "place", lambda agent: "place")
    deeds.before(networks, "free", lambda agent: "free")
    deeds.before(
        docker.APIClient,
        "send",
        lambda api, request, **_: "" if request.method == "GET" else f"engine {request.path_url}",
    )
    deeds.before(
        subprocess, "run", lambda argv, **_: "" if list(argv[:2]) == QUESTIONS else argv[0]
    )
    deeds.before(Path, "rename", lambda path, target: f"rename {path.suffix}")


def one_pass(agent_id: str, last: int, state: Path, token: str) -> list[str]:
    """The names of its deeds, where it lives to the end."""
    from controlplane.keys.vault.memory import MemoryVault
    from provisioner.backend import Backend
    from provisioner.engines.docker import DockerEngine
    from provisioner.probe import HttpProber
    from provisioner.reconcile import reconcile
    from provisioner.secrets import TmpfsKeys
    from provisioner.workspaces.loop import LoopWorkspaces

    vault = MemoryVault()
    vault.write(f"agents/{agent_id}", {"gateway": token})
    backend = Backend(
        engine=DockerEngine(),
        workspaces=LoopWorkspaces(state),
        keys=TmpfsKeys(state / "keys"),
        vault=vault,
        prober=HttpProber(),
        guarded=True,
        patience=20,
    )
    deeds = Deeds(last)
    watch(deeds)
    assert reconcile(agent_id, backend)
    return deeds.names


def serve(state: Path) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                names = one_pass(order["agent"], order["last"], state, order["token"])
                os.write(writing, json.dumps(names).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with open(reading) as file:
            deeds = file.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "deeds": deeds}), flush=True)


if __name__ == "__main__":
    django.setup()
    import provisioner.reconcile  # noqa: F401  before the forks, so that each is quick

    serve(Path(os.environ["ROOST_STATE_DIR"]))
