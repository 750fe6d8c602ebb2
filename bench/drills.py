"""Ways for an installation to be hurt. Each hurts and returns; who looks is soak.py."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bench import containers
from bench.installation import Installation, wait
from bench.resident import Resident

PROGRAMS = ("web", "worker", "node", "gateway", "valkey", "postgres", "openbao")
TOGETHER = ("web", "worker", "node", "gateway", "valkey")


@dataclass(frozen=True)
class Scene:
    installation: Installation
    victim: Resident
    rng: Random


def kill_agent(scene: Scene) -> None:
    containers.kill_main_process(scene.victim.container)


def kill_container(scene: Scene) -> None:
    containers.docker("kill", scene.victim.container)


def remove_container(scene: Scene) -> None:
    containers.docker("rm", "-f", scene.victim.container)


def kill_program(scene: Scene) -> None:
    _kill(scene, scene.rng.choice(PROGRAMS))


def kill_everything_of_ours(scene: Scene) -> None:
    _kill(scene, *PROGRAMS)


def remove_while_nobody_is_there(scene: Scene) -> None:
    containers.docker("rm", "-f", scene.victim.container)
    _kill(scene, *TOGETHER)


def kill_worker_while_it_restarts(scene: Scene) -> None:
    _verb(scene, "restart")
    time.sleep(scene.rng.random() * 2)
    _kill(scene, "worker", "node")


def restart(scene: Scene) -> None:
    _verb(scene, "restart")


def stop_and_start(scene: Scene) -> None:
    _verb(scene, "stop")

    def stopped() -> bool:
        seen = scene.installation.agent(scene.victim.id)
        return bool(seen["settled"] and seen["status"] == "stopped")

    wait(stopped, 120, f"{scene.victim.id} to stop")
    _verb(scene, "start")


def short_life(scene: Scene) -> None:
    """An agent that is deleted while it is being born, or soon after."""
    agent = scene.installation.insist(
        "POST",
        "/agents",
        json={
            "name": f"short-{scene.rng.randrange(10**9)}",
            "runtime": "hermes",
            "disk_gib": 1,
            "egress": "none",
        },
    )
    time.sleep(scene.rng.random() * 4)
    scene.installation.delete(agent["id"])


DRILLS: dict[str, Callable[[Scene], None]] = {
    drill.__name__: drill
    for drill in (
        kill_agent,
        kill_container,
        remove_container,
        kill_program,
        kill_everything_of_ours,
        remove_while_nobody_is_there,
        kill_worker_while_it_restarts,
        restart,
        stop_and_start,
        short_life,
    )
}


def _verb(scene: Scene, verb: str) -> None:
    scene.installation.insist("POST", f"/agents/{scene.victim.id}/{verb}", json={})


def _kill(scene: Scene, *programs: str) -> None:
    """One that is not up at the moment is dead already."""
    for program in programs:
        told = scene.installation.supervisor("pid", program).strip()
        if told.isdigit() and int(told):
            os.kill(int(told), signal.SIGKILL)


# What a drill may meet when the one before has left something on its way.
PASSING = (subprocess.CalledProcessError, containers.NoProcess, ProcessLookupError)
