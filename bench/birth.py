"""From a create to an agent that answers, against `docker run` of the same to the same answer."""

import itertools
import time

from bench import pairs, results
from bench.bare import Bare
from bench.installation import Installation, wait
from bench.results import Figure, Result
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from provisioner.backend import get_backend

PAIRS = 16
TARGET = 1.25
READY_S = 120


def measure(installation: Installation, count: int = PAIRS) -> Result:
    backend = get_backend()
    like = Agent.objects.select_related("release").get(pk=installation.facts["agent"])
    numbers = itertools.count(1)

    def bare() -> float:
        with Bare.prepared(backend, like) as one:
            begun = time.monotonic()
            one.run()
            one.wait_ready()
            return time.monotonic() - begun

    def whole() -> float:
        begun = time.monotonic()
        agent = installation.create(f"birth-{next(numbers)}")
        wait(lambda: status_of(agent) == Status.RUNNING, READY_S, "a birth")
        assert installation.agent(agent)["status"] == "running"
        took = time.monotonic() - begun
        installation.delete(agent)
        return took

    bare(), whole()  # the first of each finds cold caches
    before = results.load()
    measured = list(pairs.alternate(bare, whole, count))
    figure = Figure("POST to running / docker run to answer", pairs.ratio(measured), TARGET)
    return Result("birth", [figure], (before, results.load()), {"pairs": pairs.told(measured)})


def status_of(agent_id: str) -> str:
    """Read from the row: twenty requests a second to the API would slow the birth they watch."""
    return Agent.objects.values_list("status", flat=True).get(pk=agent_id)
