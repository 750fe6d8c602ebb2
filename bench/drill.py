"""A recovery drill, against the engine's own restart of the same container.

What is timed of the drill is what its report says: from the kill of the main process until the
agent runs and answers. Snapshot and comparison lie outside: the agent is up meanwhile.
"""

import time

from bench import pairs, results
from bench.installation import Installation, Stuck, wait
from bench.recovery import BACK_S, against_bare
from bench.results import Figure, Result
from controlplane.agents.models import Agent
from provisioner.backend import get_backend

PAIRS = 8
TARGET = 1.10
OVER_S = 300


def measure(installation: Installation, count: int = PAIRS) -> Result:
    backend, agent_id = get_backend(), installation.facts["agent"]
    agent = Agent.objects.select_related("release").get(pk=agent_id)
    away: list[float] = []

    def drill() -> float:
        begun = time.monotonic()
        told = _drill(installation, agent_id)
        away.append(time.monotonic() - begun)
        return told

    before = results.load()
    found = against_bare(backend, agent, drill, count)
    del away[0]  # of the first, which does not count
    figures = [
        Figure("drill, kill to answer / engine alone", pairs.ratio(found), TARGET),
        Figure("drill, asked for to verdict, longest", max(away), unit="s"),
    ]
    return Result("drill", figures, (before, results.load()), {"pairs": pairs.told(found)})


def _drill(installation: Installation, agent_id: str) -> float:
    """Seconds to recover, as it tells. Raises Stuck where it did not pass."""
    path = f"/agents/{agent_id}/drills"
    asked = installation.insist("POST", path, json={"kind": "process"})["id"]

    def over() -> bool:
        return installation.api("GET", f"{path}/{asked}")["finished_at"] is not None

    wait(over, OVER_S, "a drill to be over")
    told = installation.insist("GET", f"{path}/{asked}")
    if told["verdict"] != "passed":
        raise Stuck(f"A drill ended as {told['verdict']}: {told['message']}")
    wait(lambda: bool(installation.agent(agent_id)["settled"]), BACK_S, "the agent to settle")
    return float(told["recovery_ms"]) / 1000
