"""From `kill -9` of an agent's main process to the next answer, against the engine's restart alone.

Two ends are timed for the whole: the health answer, and the status `running` that people see.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from bench import pairs, results
from bench.bare import Bare
from bench.containers import kill_main_process
from bench.installation import Installation, wait
from bench.pairs import Pair
from bench.results import Figure, Result
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from provisioner import look, names
from provisioner.backend import Backend, get_backend

PAIRS = 16
TARGET = 1.25
BACK_S = 120
# The engine waits longer before it restarts what ran for less than ten seconds.
STEADY_S = 12.0


def measure(installation: Installation, count: int = PAIRS) -> Result:
    backend, agent_id = get_backend(), installation.facts["agent"]
    agent = Agent.objects.select_related("release").get(pk=agent_id)
    answered: list[float] = []

    def whole() -> float:
        answer, running = _kill_whole(backend, installation, agent)
        answered.append(answer)
        return running

    before = results.load()
    running = against_bare(backend, agent, whole, count)
    del answered[0]  # of the first, which does not count
    health = [
        Pair(pair.bare, took, pair.load) for pair, took in zip(running, answered, strict=True)
    ]
    figures = [
        Figure("kill -9 to status running / engine alone", pairs.ratio(running), TARGET),
        Figure("kill -9 to health answer / engine alone", pairs.ratio(health), TARGET),
    ]
    details = {"pairs": pairs.told(running), "pairs_health": pairs.told(health)}
    return Result("recovery", figures, (before, results.load()), details)


def against_bare(
    backend: Backend, agent: Agent, whole: Callable[[], float], count: int
) -> list[Pair]:
    """`count` recoveries of `whole`, in seconds, each beside one by the engine alone. The first of
    both finds cold caches and does not count."""
    steady = Steady()

    def rested() -> float:
        steady.wait("whole")
        took = whole()
        steady.since("whole")
        return took

    with Bare.prepared(backend, agent) as alone:

        def bare() -> float:
            steady.wait("bare")
            begun = time.monotonic()
            kill_main_process(alone.name)
            alone.wait_ready()
            steady.since("bare")
            return time.monotonic() - begun

        alone.run()
        alone.wait_ready()
        steady.since("bare")
        bare(), rested()
        return list(pairs.alternate(bare, rested, count))


class Steady:
    """Both have run for long enough before they are killed again."""

    def __init__(self) -> None:
        self._up: dict[str, float] = {}

    def since(self, who: str) -> None:
        self._up[who] = time.monotonic()

    def wait(self, who: str) -> None:
        up = self._up.get(who, time.monotonic() - STEADY_S)
        time.sleep(max(0.0, up + STEADY_S - time.monotonic()))


def _kill_whole(backend: Backend, installation: Installation, agent: Agent) -> tuple[float, float]:
    """Seconds to the health answer, and to `running`, which it must have left in between."""
    target = look.target(backend, Agent.objects.get(pk=agent.pk))
    assert target is not None
    before = _status(agent.pk)
    assert before[0] == Status.RUNNING
    begun = time.monotonic()
    kill_main_process(names.container(agent.pk))

    def answers() -> float:
        assert backend.prober.wait(target, BACK_S)
        return time.monotonic() - begun

    def running() -> bool:
        status, since = _status(agent.pk)
        return status == Status.RUNNING and since > before[1]

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(answers)
        wait(running, BACK_S, "an agent to run again")
        took = time.monotonic() - begun
    assert installation.agent(agent.pk)["status"] == "running"
    return answer.result(), took


def _status(agent_id: str) -> tuple[str, datetime]:
    """From the row, which costs less to ask twenty times a second than the API."""
    return Agent.objects.values_list("status", "status_since").get(pk=agent_id)
