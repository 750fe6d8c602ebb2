"""Forks: a new agent that begins as a snapshot of another.

It has a name, an identity, a token and limits of its own. It takes over the settings and the
model key of the release that the snapshot belongs to, but no named secrets: two agents with one
bot's token would answer each other's messages.
"""

from collections.abc import Sequence

from django.db import transaction

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent, Release
from controlplane.agents.releases import release_of
from controlplane.agents.timeline import tell
from controlplane.keys.models import Key
from controlplane.snapshots.errors import SnapshotNotUsable
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.access import Access

NOT_HERE = "Its copy is not on the node any more, only off-site. Restore it first."


def forked_release(snapshot: Snapshot) -> Release:
    """Whose settings a fork takes over: the one it belongs to, or today's where that is gone."""
    source = snapshot.agent
    return source.releases.filter(number=snapshot.release).first() or release_of(source)


def forked_key(release: Release) -> Key | None:
    """None without a key or with a revoked one: the fork then uses the stand-in model."""
    return release.key if release.key is not None and release.key.revoked_at is None else None


def fork(access: Access, snapshot: Snapshot, *, name: str, secrets: Sequence[str] = ()) -> Agent:
    """Raises what creating an agent raises, and SnapshotNotUsable."""
    access.require("agents:write")
    source = snapshot.agent
    with transaction.atomic():
        locked = Snapshot.objects.select_for_update().get(pk=snapshot.pk)
        if not locked.usable:
            raise SnapshotNotUsable(locked.message)
        if not locked.on_node:
            raise SnapshotNotUsable(NOT_HERE)
        release = forked_release(locked)
        key = forked_key(release)
        agent = create_agent(
            access,
            name=name,
            runtime=source.runtime,
            key=key.pk if key else None,
            model=release.model if key else "",
            size=release.size,
            disk_gib=max(release.disk_gib, locked.disk_gib),
            egress=release.egress,
            egress_hosts=release.egress_hosts,
            isolation=release.isolation,
            background=release.background,
            secrets=secrets,
            origin=locked.pk,
        )
        moment = f"{locked.taken_at:%Y-%m-%d %H:%M} UTC"
        detail = f"From the snapshot of {moment}"
        tell(agent, "forked", f"A fork of {source.name}", detail=detail, actor=access.actor.label)
        tell(source, "fork.made", f"{agent.name} began as a fork of it", detail=detail)
    return agent
