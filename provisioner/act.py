"""Carrying out one step of a plan. Every step is an ensure, so half of it does no harm."""

from typing import Any

from controlplane.agents.lease import Lease
from controlplane.agents.models import Agent, Release
from controlplane.keys.vault import VaultUnavailable
from controlplane.tenants.errors import OrganisationPaused
from provisioner import boot, names, networks, reach
from provisioner.backend import Backend
from provisioner.engines.base import ImageMissing
from provisioner.plan import Step
from runtimes.catalog import CATALOG


def carry_out(backend: Backend, lease: Lease, agent: Agent, step: Step) -> Step:
    """Returns the step it was given. Raises what outcomes.EXPECTED lists."""
    match step:
        case Step.CREATE:
            _create(backend, lease, agent)
        case Step.REPLACE:
            _replace(backend, lease, agent)
        case Step.START:
            _bring_back(backend, lease, agent)
            backend.engine.ensure_started(names.container(agent.pk))
        case Step.NUDGE:
            _bring_back(backend, lease, agent)
            backend.engine.nudge(names.container(agent.pk))
        case Step.RESTORE:
            _bring_back(backend, lease, agent)
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


def _create(backend: Backend, lease: Lease, agent: Agent) -> None:
    keys = _preflight(backend, agent)
    boot.create(backend, lease, agent, _release(agent), CATALOG[agent.runtime], keys)


def _replace(backend: Backend, lease: Lease, agent: Agent) -> None:
    """Nothing is taken down before all that the new one needs is there."""
    keys = _preflight(backend, agent)
    _stop(backend, agent)
    backend.engine.ensure_removed(names.container(agent.pk))
    boot.create(backend, lease, agent, _release(agent), CATALOG[agent.runtime], keys)


def _preflight(backend: Backend, agent: Agent) -> dict[str, Any]:
    _refuse_paused(agent)
    keys = boot.read_keys(backend.vault, agent, _release(agent))
    if not backend.engine.has_image(_release(agent).image):
        raise ImageMissing(_release(agent).image)
    return keys


def _bring_back(backend: Backend, lease: Lease, agent: Agent) -> None:
    """A container that ended or waits: mount and key again. With the vault away, what the node
    still holds in memory will do."""
    _refuse_paused(agent)
    keys: dict[str, Any] | None
    try:
        keys = boot.read_keys(backend.vault, agent, _release(agent))
    except VaultUnavailable:
        if backend.keys.token(agent.pk) is None:
            raise
        keys = None
    boot.restore(backend, lease, agent, keys)


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
        reach.apply(placed, is_open=False)
    # The address goes last: as long as it is held, an interrupted removal is taken up again.
    unused = networks.leaves_alone(agent)
    if unused is not None:
        backend.engine.ensure_network_removed(unused)
    networks.free(agent)


def _release(agent: Agent) -> Release:
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    return agent.release
