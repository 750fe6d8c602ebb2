"""The node's process: watch, sweep, rounds, resolver. It needs the database and the engine;
with the queue away everything still converges, only a second later."""

import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Agent
from provisioner import memory, pool, resolver, rounds, watch
from provisioner.backend import Backend
from provisioner.crew import Crew
from provisioner.disks import Disks
from provisioner.drills import planned
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.grants import Grants
from provisioner.guard import GuardError
from provisioner.guard_watch import GuardWatch
from provisioner.jobs import launch
from provisioner.portability import tidying
from provisioner.snapshots import keeping, scratch
from provisioner.strays import reaping, recording
from provisioner.strays.models import HERE, SHARED
from provisioner.trials import alarm as trial_alarm
from provisioner.trials import planned as trials
from provisioner.workspaces.base import WorkspaceTrouble

log = logging.getLogger(__name__)

SWEEP = 1.0  # seconds between two of each
ASK = 20.0
BEAT = 5.0
JOBS = 2.0
PLANS = 20.0
COMPARE = 15.0
DISKS = 15.0
HOUSE = 60.0
GUARD = 3.0
STRAYS = 300.0
SHARED_STRAYS = 3600.0  # each folder of the store is asked for
FORGET = 3600.0
EXPECTED = (DatabaseError, WorkspaceTrouble, GuardError, EngineUnavailable, EngineRefused)


def run(backend: Backend, stop: threading.Event) -> None:
    """Until `stop` is set."""
    memory.compare()
    backend.workspaces.prepare_node()
    rounds.keep_house(backend)
    rounds.beat(backend)
    crew = Crew(backend)
    wake_all(crew)
    asked = rounds.Rounds(backend, crew)
    grants = Grants()
    jobs: list[tuple[str, float, Callable[[], object]]] = [
        ("sweep", SWEEP, lambda: rounds.sweep(crew)),
        ("ask", ASK, asked.ask),
        ("memory", BEAT, lambda: _remember(backend, crew)),
        ("beat", BEAT, lambda: rounds.beat(backend)),
        ("jobs", JOBS, launch.sweep),
        ("drills", HOUSE, planned.start_due),
        ("compare", COMPARE, lambda: watch.compare(backend, crew)),
        ("disks", DISKS, Disks(backend).measure),
        ("pool", DISKS, lambda: pool.note(backend)),
        ("house", HOUSE, lambda: rounds.keep_house(backend)),
        ("offers", HOUSE, lambda: rounds.note_offers(backend)),
        ("strays", STRAYS, lambda: recording.note(backend, HERE)),
        ("shared strays", SHARED_STRAYS, lambda: recording.note(backend, SHARED)),
        ("reap", HOUSE, lambda: reaping.carry_out(backend)),
        ("archives", HOUSE, tidying.remove_archives),
        ("forget", FORGET, rounds.forget_old),
    ]
    if (clones := backend.workspaces.clones) is not None:
        jobs += [
            ("thaw", JOBS, clones.thaw_forgotten),
            ("plans", PLANS, keeping.plan_all),
            ("due", PLANS, keeping.take_due),
            ("expire", FORGET, keeping.expire),
            ("remove", PLANS, lambda: keeping.remove_forgotten(backend)),
            ("trial plans", HOUSE, trials.plan_all),
            ("trials", HOUSE, trials.start_due),
            ("trial alarm", HOUSE, trial_alarm.settle),
            ("scratch", HOUSE, lambda: scratch.clear(backend)),
        ]
    if backend.guarded:
        jobs.append(("guard", GUARD, GuardWatch(grants).look))
    threads = [threading.Thread(target=_every, args=(*job, stop), name=job[0]) for job in jobs]
    # The stream blocks without a word for as long as nothing happens, so nobody waits for it.
    threads.append(
        threading.Thread(target=_forever, args=(backend, crew, stop), name="watch", daemon=True)
    )
    for thread in threads:
        thread.start()
    with resolver.serving(backend, grants):
        stop.wait()
    for thread in threads:
        if not thread.daemon:
            thread.join()
    crew.stop()


def wake_all(crew: Crew) -> None:
    """After a reboot or an update every agent that should run gets a pass: remounted, keyed again
    from the vault, started."""
    rows = Agent.objects.on(settings.ROOST_NODE).filter(goal=Goal.RUNNING)
    for agent_id in rows.values_list("pk", flat=True):
        crew.nudge(agent_id)


def _remember(backend: Backend, crew: Crew) -> None:
    """Once it is noticed that the database went back, what is there is looked at without delay."""
    if memory.compare():
        watch.compare(backend, crew)


def _every(name: str, seconds: float, job: Callable[[], object], stop: threading.Event) -> None:
    while not stop.is_set():
        _attempt(name, job)
        stop.wait(seconds)


def _forever(backend: Backend, crew: Crew, stop: threading.Event) -> None:
    while not stop.is_set():
        _attempt("watch", lambda: watch.follow(backend, crew, stop))
        stop.wait(1)


def _attempt(name: str, job: Callable[[], object]) -> None:
    """One job's trouble is written down and does not end the node."""
    try:
        job()
    except EXPECTED as error:
        log.warning("%s: %s", name, error)
    except Exception:
        log.exception("%s failed", name)
    finally:
        close_old_connections()
