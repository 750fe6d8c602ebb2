"""From a create to an agent that answers, against `docker run` of the same to the same answer."""

import itertools
import time

from bench import pairs, results
from bench.bare import Bare
from bench.installation import Installation, wait
from bench.pairs import Pair
from bench.results import Figure, Result
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from provisioner.backend import get_backend
from runtimes.catalog import CATALOG, Runtime

# A runtime that boots for twenty seconds needs fewer pairs than one that boots for two.
SECONDS_OF_BOOTS = 50
FEWEST, MOST = 4, 16
TARGET = 1.15
POLL = 0.01  # seconds: what is looked for late counts as time that a birth took


def measure(installation: Installation) -> Result:
    before = results.load()
    measured = {slug: births(installation, CATALOG[slug]) for slug in CATALOG}
    figures = [
        Figure(f"{slug}: POST to running / docker run to answer", pairs.ratio(found), TARGET)
        for slug, found in measured.items()
    ]
    told = {slug: pairs.told(found) for slug, found in measured.items()}
    return Result("birth", figures, (before, results.load()), {"pairs": told})


def births(installation: Installation, runtime: Runtime) -> list[Pair]:
    backend, patience = get_backend(), 2 * runtime.start_deadline_s
    numbers = itertools.count(1)

    def whole() -> float:
        begun = time.monotonic()
        agent = installation.create(f"birth-{runtime.slug}-{next(numbers)}", runtime.slug)
        wait(lambda: status_of(agent) == Status.RUNNING, patience, "a birth", POLL)
        took = time.monotonic() - begun
        assert installation.agent(agent)["status"] == "running"
        installation.delete(agent)
        return took

    first = installation.create(f"birth-{runtime.slug}", runtime.slug)
    wait(lambda: status_of(first) == Status.RUNNING, patience, "a birth")
    like = Agent.objects.select_related("release").get(pk=first)
    installation.insist("POST", f"/agents/{first}/stop", json={})
    wait(lambda: status_of(first) == Status.STOPPED, patience, "a stop")

    def bare() -> float:
        with Bare.prepared(backend, like) as one:
            begun = time.monotonic()
            one.run()
            one.wait_ready()
            return time.monotonic() - begun

    bare(), whole()  # the first of each finds cold caches
    count = min(MOST, max(FEWEST, round(SECONDS_OF_BOOTS / runtime.start_usual_s)))
    measured = list(pairs.alternate(bare, whole, count))
    installation.delete(first)
    return measured


def status_of(agent_id: str) -> str:
    """Read from the row: twenty requests a second to the API would slow the birth they watch."""
    return Agent.objects.values_list("status", flat=True).get(pk=agent_id)
