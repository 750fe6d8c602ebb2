"""How one stray of each kind is removed, after a look whether it is still that very thing. Absent
counts as removed."""

from collections.abc import Callable

from provisioner.backend import Backend
from provisioner.offsite import place
from provisioner.strays import speaking
from provisioner.strays.models import Kind, Stray

GRACE = 20  # seconds, so that it flushes like any other stop


class NotNow(Exception):
    """Something else has to go first, or has taken its place."""


def remove(backend: Backend, stray: Stray) -> None:
    """Raises NotNow, and what the part that keeps it raises."""
    REMOVALS[Kind(stray.kind)](backend, stray)


def _container(backend: Backend, stray: Stray) -> None:
    seen = backend.engine.inspect(stray.name)
    if seen is None:
        return
    if seen.id != stray.identity:
        raise NotNow("Another container has its name now.")
    backend.engine.ensure_stopped(stray.name, GRACE)
    backend.engine.ensure_removed(stray.name)


def _keys(backend: Backend, stray: Stray) -> None:
    _refuse_in_use(stray)
    backend.keys.withdraw(stray.agent)


def _disk(backend: Backend, stray: Stray) -> None:
    _refuse_in_use(stray)
    backend.workspaces.destroy(stray.agent)


def _copy(backend: Backend, stray: Stray) -> None:
    agent, _, clone = stray.identity.partition("/")
    if speaking.copies([clone]):
        raise NotNow("A snapshot speaks of it now.")
    if (clones := backend.workspaces.clones) is not None:
        clones.drop(agent, clone)


def _network(backend: Backend, stray: Stray) -> None:
    if stray.identity in speaking.networks():
        raise NotNow("An organisation has it now.")
    backend.engine.ensure_network_removed(stray.identity)


def _vault(backend: Backend, stray: Stray) -> None:
    backend.vault.delete(stray.identity)


def _offsite(backend: Backend, stray: Stray) -> None:
    if (why := place.why_not()) is not None:
        raise NotNow(why)
    organisation, _, agent = stray.identity.partition("/")
    place.forget_agent(organisation, agent)


def _refuse_in_use(stray: Stray) -> None:
    """Its container is another stray, which may not be to go."""
    rows = Stray.objects.open().filter(node=stray.node, kind=Kind.CONTAINER, agent=stray.agent)
    if rows.exists():
        raise NotNow("Its container is still there, and has to go first.")


REMOVALS: dict[Kind, Callable[[Backend, Stray], None]] = {
    Kind.CONTAINER: _container,
    Kind.KEYS: _keys,
    Kind.DISK: _disk,
    Kind.COPIES: _disk,
    Kind.COPY: _copy,
    Kind.NETWORK: _network,
    Kind.VAULT: _vault,
    Kind.OFFSITE: _offsite,
}
