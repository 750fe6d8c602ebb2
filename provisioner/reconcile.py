"""One idempotent pass over one agent: look, decide, act, look again.

Safe to repeat and to interrupt anywhere: what was done is seen at the next look, and what
was not is done then. A pass ends when the agent is settled, when it has waited long enough
for a start, or when something outside is away; the sweep takes it up again.
"""

import time
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.lease import Lease, LeaseLost
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM
from controlplane.audit.record import record
from provisioner import act, outcomes
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
        with kept_alive(lease):
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
        try:
            if _purge_due(agent):
                purge(agent, backend)
                return
            found = _unhurried(backend, agent, patience)
            decision = decide(found.wish, found.seen)
            write(lease, agent, backend, found, decision)
            step = act.carry_out(backend, lease, agent, decision.step)
        except outcomes.EXPECTED as trouble:
            outcomes.explain(lease, agent, trouble)
            return
        if step is last and step not in {Step.WAIT, Step.NONE}:
            time.sleep(AGAIN)  # it had no effect yet, such as a removal that is under way
        last = step
        waiting = step is Step.WAIT
        waited += patience
        if step is Step.NONE or (waiting and waited >= backend.patience):
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


def _purge_due(agent: Agent) -> bool:
    gone = agent.goal == Goal.DELETED and agent.status == Status.DELETED
    return gone and agent.purge_at is not None and now() >= agent.purge_at


def purge(agent: Agent, backend: Backend) -> None:
    """After the grace period: secrets, disk and row are gone for good; the audit log tells.

    The disk goes while the row is locked: nobody brings back an agent whose disk is gone.
    """
    backend.vault.delete(f"agents/{agent.pk}")
    with transaction.atomic():
        locked = Agent.objects.select_for_update().get(pk=agent.pk)
        if not _purge_due(locked):
            return
        backend.workspaces.destroy(agent.pk)
        record(
            SYSTEM,
            "agent.purged",
            agent.pk,
            organisation=agent.organisation_id,
            label=agent.name,
            data={"grace_seconds": settings.ROOST_DELETE_GRACE_SECONDS},
        )
        Agent.objects.filter(pk=agent.pk).update(release=None)
        agent.delete()
