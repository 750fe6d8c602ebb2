"""Carrying out one step of a plan. Every step is an ensure, so half of it does no harm."""

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent, Egress, Isolation, Release
from controlplane.keys.vault import VaultUnavailable
from controlplane.tenants.errors import OrganisationPaused
from provisioner import boot, delivery, names, networks, reach, setting_up, turns
from provisioner.backend import Backend
from provisioner.engines.base import AddressTaken, ImageMissing, IsolationMissing
from provisioner.plan import Step
from provisioner.report import step as tell_step
from provisioner.secrets import Delivery
from provisioner.snapshots import sprout, swap
from runtimes.catalog import CATALOG

# Steps after which an agent boots: what it boots with must be there, and a place to boot in.
BIRTHS = {Step.CREATE, Step.REPLACE}
BOOTS = BIRTHS | {Step.START, Step.NUDGE}


def prepare(backend: Backend, lease: Lease, agent: Agent, step: Step) -> Delivery | None:
    """What a step needs from outside, before anything is taken down or written about it: keys,
    image, a place among those that boot. None: the node already holds all that it needs.

    Raises what outcomes.EXPECTED lists.
    """
    if step is Step.SET_UP:
        # What it comes back with goes to the vault, and is lost while that is away.
        return delivery.read(backend.vault, agent, _release(agent))
    if step is Step.SWAP:
        swap.refuse_missing(backend, agent)
    if step not in BOOTS | {Step.RESTORE}:
        return None
    _refuse_paused(agent)
    if sprout.needed(agent):
        sprout.refuse_unready(agent)
        sprout.inherit(backend, agent)
    keys = _keys(backend, agent, renew=step in BIRTHS)
    if step in BIRTHS:
        _refuse_impossible(backend, _release(agent))
    if step in BOOTS:
        turns.take(lease, agent)
    return keys


def carry_out(
    backend: Backend, lease: Lease, agent: Agent, step: Step, keys: Delivery | None
) -> Step:
    """`keys` are what `prepare` returned. Returns the step it was given. Raises what
    outcomes.EXPECTED lists."""
    try:
        return _carry_out(backend, lease, agent, step, keys)
    except AddressTaken:
        _move(backend, lease, agent)
        raise


def _carry_out(
    backend: Backend, lease: Lease, agent: Agent, step: Step, keys: Delivery | None
) -> Step:
    name = names.container(agent.pk)
    match step:
        case Step.CREATE:
            _create(backend, lease, agent, keys)
        case Step.REPLACE:
            _stop(backend, agent)
            backend.engine.ensure_removed(name)
            _create(backend, lease, agent, keys)
        case Step.START | Step.NUDGE:
            boot.restore(backend, lease, agent, keys)
            if step is Step.NUDGE or not _is_up(backend, name):
                _note_versions(lease, keys)
            start = backend.engine.nudge if step is Step.NUDGE else backend.engine.ensure_started
            start(name)
        case Step.RESTORE:
            boot.restore(backend, lease, agent, keys)
        case Step.SWAP:
            _stop(backend, agent)
            boot.let_go(backend, agent)
            swap.put(backend, lease, agent)
        case Step.SET_UP:
            setting_up.run(backend, lease, agent, _release(agent))
        case Step.STOP:
            _stop(backend, agent)
            boot.let_go(backend, agent)
        case Step.REMOVE:
            _remove(backend, agent)
        case Step.WAIT | Step.NONE:
            return step
    # What we did ourselves is not a crash: the next look starts counting anew.
    lease.write(life="")
    return step


def _move(backend: Backend, lease: Lease, agent: Agent) -> None:
    """A container keeps its address for life: the next try makes one with another."""
    backend.engine.ensure_removed(names.container(agent.pk))
    boot.let_go(backend, agent)
    before = networks.place(agent)
    if backend.guarded:
        reach.apply(agent.pk, before, egress=Egress.NONE)  # its reach is not the stranger's
    after = networks.move(agent)
    detail = f"Something that is not ours has {before.address} on its network"
    tell_step(lease, agent, "address", f"Moved to address {after.address}", detail)


def _keys(backend: Backend, agent: Agent, *, renew: bool) -> Delivery | None:
    """With the vault away, a container that was there goes on with what the node still holds."""
    try:
        return delivery.read(backend.vault, agent, _release(agent))
    except VaultUnavailable:
        if renew or backend.keys.find(agent.pk) is None:
            raise
    return None


def _create(backend: Backend, lease: Lease, agent: Agent, keys: Delivery | None) -> None:
    assert keys is not None  # noqa: S101  prepared for this step
    _note_versions(lease, keys)
    boot.create(backend, lease, agent, _release(agent), CATALOG[agent.runtime], keys)


def _is_up(backend: Backend, name: str) -> bool:
    """One that was only paused, or that the engine started first, goes on with what it has."""
    container = backend.engine.inspect(name)
    return container is not None and container.up


def _note_versions(lease: Lease, keys: Delivery | None) -> None:
    """What the process that starts next is given; a rotation is judged by it once it answers.
    Before the start, whose answer an engine may owe us: the process would run and count as old."""
    if keys is not None:
        lease.write(key_versions=dict(keys.versions))


def _refuse_impossible(backend: Backend, release: Release) -> None:
    """What this node lacks, before the container that is there is taken down for it."""
    if not backend.engine.has_image(release.image):
        raise ImageMissing(release.image)
    if release.isolation == Isolation.GVISOR and "gvisor" not in backend.engine.isolations():
        raise IsolationMissing


def _refuse_paused(agent: Agent) -> None:
    """Checked here again: a schedule, a restart or a restored row must not get around it."""
    if agent.organisation.paused_reason:
        raise OrganisationPaused(agent.organisation.name, agent.organisation.paused_reason)


def _stop(backend: Backend, agent: Agent) -> None:
    grace = CATALOG[agent.runtime].stop_grace_s
    backend.engine.ensure_stopped(names.container(agent.pk), grace)


def _remove(backend: Backend, agent: Agent) -> None:
    _stop(backend, agent)  # so that it flushes like any other stop
    backend.engine.ensure_removed(names.container(agent.pk))
    boot.let_go(backend, agent)
    placed = networks.find(agent)
    if placed is not None and backend.guarded:
        reach.apply(agent.pk, placed, egress=Egress.NONE)
    # The address goes last: as long as it is held, an interrupted removal is taken up again.
    unused = networks.leaves_alone(agent)
    if unused is not None:
        backend.engine.ensure_network_removed(unused)
    networks.free(agent)


def _release(agent: Agent) -> Release:
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    return agent.release
