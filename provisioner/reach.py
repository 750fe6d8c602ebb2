"""Putting agents' network policy into effect: guard.py writes rules, this says which and when.

Worker and node both do it, and reading the policy and loading it take two steps, so one lock of
the host orders them: a table made from an older policy never replaces a newer one.
"""

import fcntl
import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from controlplane.agents.lifecycle import Goal
from controlplane.agents.models import Egress
from provisioner import guard, guard_rules, hosts, names, networks
from provisioner.models import Address, Stray
from provisioner.networks import Placed, subnet_of, who_at

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reach:
    """What one agent may reach."""

    agent_id: str
    bridge: str
    address: str
    egress: str
    entries: tuple[str, ...] = ()  # of a list

    @property
    def who(self) -> guard.Who:
        return self.bridge, self.address

    @property
    def hosts(self) -> hosts.Hosts:
        return hosts.read(self.entries)

    @property
    def digest(self) -> str:
        """Of whose list it is and what is in it: an address may become another agent's."""
        text = "\n".join([self.agent_id, *self.entries])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def listed(self) -> guard_rules.Listed | None:
        if self.egress != Egress.LIST:
            return None
        fixed = tuple(one for one in self.hosts.fixed if guard_rules.is_public(one[0]))
        return guard_rules.Listed(self.bridge, self.address, self.digest, fixed)


def refresh() -> None:
    """Load all rules anew. Raises GuardError."""
    with _exclusive():
        guard.load(guard_policy())


def apply(agent_id: str, placed: Placed, *, egress: str, entries: Sequence[str] = ()) -> None:
    """One agent's policy, in effect at once. Raises GuardError."""
    wanted = Reach(agent_id, placed.network.bridge, placed.address, egress, tuple(entries))
    with _exclusive():
        try:
            _set(wanted)
        except guard.NotLoaded:
            log.warning("the network guard was not there; it is loaded anew")
            guard.load(guard_policy())
            _set(wanted)


def _set(agent: Reach) -> None:
    guard.set_agent(
        settings.ROOST_INSTALLATION,
        agent.who,
        is_open=agent.egress == Egress.OPEN,
        listed=agent.listed,
        quarantined=agent.who in strangers(),
    )


def allow(agent: Reach, targets: Iterable[guard.Target], seconds: int) -> None:
    """What an agent is about to be told of its list. Raises GuardError, also when the list that
    was read for it is not the one in effect."""
    installation = settings.ROOST_INSTALLATION
    with _exclusive():
        if guard.list_of(installation, agent.who) != agent.digest:
            guard.load(guard_policy())
            if guard.list_of(installation, agent.who) != agent.digest:
                raise guard.GuardError("its list has just changed")
        guard.allow(installation, agent.who, targets, seconds)


def guard_policy() -> guard_rules.Policy:
    """The rules as the database wants them now."""
    agents = reaches()
    installation = settings.ROOST_INSTALLATION
    return guard_rules.Policy(
        installation=installation,
        prefix=names.bridge_prefix(installation),
        service_address=settings.ROOST_SERVICE_ADDRESS,
        service_ports=tuple(settings.ROOST_SERVICE_PORTS),
        open=tuple(agent.who for agent in agents if agent.egress == Egress.OPEN),
        listed=tuple(agent.listed for agent in agents if agent.listed),
        quarantined=tuple(strangers()),
    )


def strangers() -> set[guard.Who]:
    """Containers on this node that no row speaks of: they go on, and reach nothing. One that is
    down does not either once it is up, unless an agent was given its address meanwhile."""
    rows = networks.strangers().filter(node=settings.ROOST_NODE)
    up = _who(rows.filter(spec__running=True))
    down = _who(rows.exclude(spec__running=True))
    return up | (down - {agent.who for agent in reaches()} if down else set())


def _who(strays: QuerySet[Stray]) -> set[guard.Who]:
    found = (who_at(address) for address in strays.values_list("address", flat=True))
    return {who for who in found if who is not None}


def reaches() -> list[Reach]:
    """Every agent that has an address on this node, with what the newest wish lets it reach."""
    rows = Address.objects.filter(agent__node=settings.ROOST_NODE)
    return [_reach(row) for row in rows.select_related("block", "agent", "agent__release")]


def _reach(row: Address) -> Reach:
    agent, release = row.agent, row.agent.release
    egress: str = Egress.NONE
    entries: tuple[str, ...] = ()
    if release is not None and agent.goal != Goal.DELETED:
        release.agent = agent  # the same row; spares a query
        egress = release.egress
        entries = tuple(release.allowed_hosts) if egress == Egress.LIST else ()
    bridge = names.bridge(settings.ROOST_INSTALLATION, row.block.number)
    address = str(subnet_of(row.block)[row.host])
    return Reach(agent.pk, bridge, address, egress, entries)


@contextmanager
def _exclusive() -> Iterator[None]:
    path = settings.ROOST_STATE_DIR / "guard.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
