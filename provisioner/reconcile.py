"""One idempotent pass over one agent: look, decide, act, look again.

Safe to repeat and to interrupt anywhere: what was done is seen at the next look, and what
was not is done then. A pass ends when the agent is settled, when it has waited long enough
for a start, or when something outside is away; the sweep takes it up again.
"""

import time
from datetime import timedelta

from django.utils.timezone import now

from controlplane.agents.lease import TTL, Lease, LeaseLost
from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from provisioner import act, older, outcomes, purging
from provisioner.backend import Backend
from provisioner.keepalive import kept_alive
from provisioner.look import Look, look
from provisioner.outcomes import write
from provisioner.plan import Decision, Step, decide

SLICE = 0.5  # seconds of waiting for an answer between two looks at engine and wishes
AGAIN = 0.2  # seconds before the same step is tried once more
LOOKS = 100  # more means that two of our rules fight; the sweep goes on later


def reconcile(agent_id: str, backend: Backend) -> bool:
    """False while another worker holds the agent."""
    lease = Lease.claim(agent_id)
    if lease is None:
        return False
    try:
        with kept_alive(lease, TTL, LeaseLost):
            _passes(lease, backend)
    except LeaseLost:
        pass  # somebody else goes on from what they see
    finally:
        lease.release()
    return True


def _passes(lease: Lease, backend: Backend) -> None:
    waited = 0.0
    waiting, last = False, Step.NONE
    for _ in range(LOOKS):
        agent = load(lease.agent_id)
        patience = min(SLICE, backend.patience) if waiting else 0
        found = None
        try:
            if purging.is_due(agent):
                purging.purge_or_later(lease, agent, backend)
                return
            found = _unhurried(backend, agent, patience)
            if older.catch_up(agent, found.seen.container):
                continue
            decision = decide(found.wish, found.seen)
            decision = older.heed(backend, lease, agent, found, decision)
            keys = act.prepare(backend, lease, agent, decision.step)
            write(lease, agent, backend, found, decision)
            step = act.carry_out(backend, lease, agent, decision.step, keys)
        except older.RowIsOlder as why:
            older.hold(lease, agent, found.seen.container if found else None, why)
            return
        except outcomes.EXPECTED as trouble:
            outcomes.explain(lease, agent, trouble)
            return
        if step is last and step not in {Step.WAIT, Step.NONE}:
            time.sleep(AGAIN)  # it had no effect yet, such as a removal that is under way
        last = step
        waited += patience
        waiting = step is Step.WAIT or step in act.BOOTS  # nobody answers the moment it is started
        if step is Step.NONE or (step is Step.WAIT and waited >= backend.patience):
            _rest(lease, agent, found, decision)
            return


def _unhurried(backend: Backend, agent: Agent, patience: float) -> Look:
    """A look that takes all its patience unless it brings an answer: where nobody can be asked (the
    engine lets it wait), it comes back at once, and would be repeated without a pause."""
    began = time.monotonic()
    found = look(backend, agent, patience)
    left = patience - (time.monotonic() - began)
    if left > 0 and not found.seen.healthy:
        time.sleep(left)
    return found


def load(agent_id: str) -> Agent:
    related = ("release", "release__key", "organisation")
    return Agent.objects.select_related(*related).get(pk=agent_id)


def _rest(lease: Lease, agent: Agent, found: Look, decision: Decision) -> None:
    """When the sweep should look again; settled agents are left to the watch and the probe."""
    due = {
        Status.STARTING: now() + timedelta(seconds=SLICE),
        Status.RESTARTING: now() + timedelta(seconds=SLICE),
        Status.DEGRADED: now() + timedelta(seconds=10),
        Status.DELETED: agent.purge_at,
    }.get(decision.status)
    if agent.due_at != due:
        lease.write(due_at=due)
