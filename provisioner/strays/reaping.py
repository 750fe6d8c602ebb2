"""Removing strays that an operator has read a list of and agreed to; nothing else is ever removed.

A plan lists what would go. Agreeing to it, within the hour and while it still holds, marks that
and no more; the node's round then removes one after the other, and looks at each again before.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM, Actor
from controlplane.audit.models import AuditEvent
from controlplane.audit.record import record
from provisioner import memory
from provisioner.backend import Backend
from provisioner.strays.errors import DatabaseDoubtful, PlanChanged, PlanTooOld, PlanUnknown
from provisioner.strays.looking import AWAY
from provisioner.strays.models import SHARED, Kind, ReapPlan, State, Stray
from provisioner.strays.removing import NotNow, remove

log = logging.getLogger(__name__)
ORDER = {kind: place for place, kind in enumerate(Kind)}
RECENT = timedelta(minutes=90)  # one that no look has seen since may be gone
# What a container uses: none of it goes unless the container does.
OF_CONTAINERS = (Kind.KEYS, Kind.DISK, Kind.COPIES)
WAITS = (
    "The database went back in time since this was agreed to. Call it off (python -m django strays "
    "--heed), or say that the database is right (--trust-database)."
)


def candidates() -> list[Stray]:
    """What a plan made now would list, in the order in which it goes."""
    moment = now()
    old = moment - timedelta(seconds=settings.ROOST_REAP_AGE_SECONDS)
    rows = Stray.objects.at(settings.ROOST_NODE).filter(state=State.FOUND)
    rows = rows.filter(first_seen_at__lte=old, last_seen_at__gte=moment - RECENT)
    ours = [one for one in rows if _proven(one)]
    staying = _containers_but(ours)
    ours = [one for one in ours if one.kind not in OF_CONTAINERS or one.agent not in staying]
    ours.sort(key=lambda one: (ORDER[Kind(one.kind)], one.first_seen_at, one.pk))
    return ours[: settings.ROOST_REAP_AT_ONCE]


def _containers_but(going: list[Stray]) -> set[str]:
    """The agents whose containers are strays here, and none of those that go."""
    rows = Stray.objects.open().filter(node=settings.ROOST_NODE, kind=Kind.CONTAINER)
    rows = rows.exclude(pk__in=[one.pk for one in going])
    return set(rows.values_list("agent", flat=True))


def _proven(stray: Stray) -> bool:
    """Whether it is this installation's, and no agent's. Labels, and this node's own folders, say
    so themselves; of what lies in a place that others may share, only the audit log does."""
    if stray.kind != Kind.COPY and stray.agent and Agent.objects.filter(pk=stray.agent).exists():
        return False
    return stray.kind not in SHARED or _was_ours(stray.agent)


def _was_ours(agent: str) -> bool:
    return AuditEvent.objects.filter(target=agent).exists()


def plan(by: Actor) -> ReapPlan:
    """A dry run: what would be removed is written down, and nothing else is done."""
    return ReapPlan.objects.create(
        node=settings.ROOST_NODE, items=_items(candidates()), made_by=by.label
    )


def _items(strays: list[Stray]) -> list[dict[str, object]]:
    return [
        {
            "stray": one.pk,
            "kind": one.kind,
            "identity": one.identity,
            "name": one.name,
            "agent": one.agent,
            "organisation": one.organisation,
            "bytes": one.bytes,
        }
        for one in strays
    ]


def agree(by: Actor, plan_id: str, *, database_is_right: str = "") -> list[Stray]:
    """All that the plan lists is to be removed; returns it. `database_is_right` is the name of the
    installation, from whom knows better than the tripwire. Raises PlanUnknown, PlanTooOld,
    PlanChanged, DatabaseDoubtful."""
    with transaction.atomic():
        rows = ReapPlan.objects.select_for_update().filter(node=settings.ROOST_NODE)
        made = rows.filter(pk=plan_id, agreed_at=None).first()
        if made is None:
            raise PlanUnknown(plan_id)
        if now() - made.made_at > ReapPlan.LASTS:
            raise PlanTooOld
        installation = settings.ROOST_INSTALLATION
        if (why := doubts()) and database_is_right != installation:
            raise DatabaseDoubtful(why, installation)
        strays = candidates()
        if _same(_items(strays)) != _same(made.items):
            raise PlanChanged
        made.agreed_by, made.agreed_at = by.label, now()
        made.save(update_fields=["agreed_by", "agreed_at"])
        for one in strays:
            Stray.objects.filter(pk=one.pk).update(state=State.REMOVING, plan=made, message="")
            _record(by, "stray.removal_agreed", one, plan=made.pk)
    return strays


def _same(items: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """What two plans are compared by: sizes grow by themselves."""
    return [(one["stray"], one["kind"], one["identity"], one["agent"]) for one in items]


def doubts() -> str:
    """Why the database looks as if it was restored; "" where it does not."""
    since = memory.older_since()
    if since is not None:
        return f"it went back in time (noticed at {since:%Y-%m-%d %H:%M} UTC)"
    rows = Stray.objects.filter(node=settings.ROOST_NODE, state=State.FOUND).exclude(agent="")
    rows = rows.exclude(kind=Kind.COPY)  # of an agent that has a row
    found = set(rows.values_list("agent", flat=True))
    unheard = sorted(agent for agent in found if not _was_ours(agent))
    if unheard:
        return f"it has never heard of {unheard[0]}, which is on this node"
    if len(found) > max(Agent.objects.on(settings.ROOST_NODE).count(), 3):
        return f"there are {len(found)} agents without a row, more than with one"
    return ""


def carry_out(backend: Backend, say: Callable[[str], object] = log.warning) -> int:
    """Remove what was agreed to; returns how many went. What cannot be removed now stays marked,
    and says why. So does what was agreed to before the database was found to be older."""
    rows = Stray.objects.at(settings.ROOST_NODE).filter(state=State.REMOVING)
    if (since := memory.older_since()) is not None:
        knowing = rows.filter(plan__agreed_at__gt=since)
        rows.exclude(pk__in=knowing.values("pk")).update(message=WAITS)
        rows = knowing
    agreed = sorted(rows, key=lambda one: (ORDER[Kind(one.kind)], one.pk))
    return sum(_remove(backend, one.pk, say) for one in agreed)


def _remove(backend: Backend, stray_id: str, say: Callable[[str], object]) -> bool:
    try:
        with transaction.atomic():
            rows = Stray.objects.select_for_update(skip_locked=True, of=("self",))
            stray = rows.filter(pk=stray_id, state=State.REMOVING).first()
            if stray is None:  # another is at it, or it was adopted
                return False
            if not _proven(stray):
                # Somebody made it an agent's again: it is no stray any more.
                Stray.objects.filter(pk=stray.pk).update(state=State.GONE, ended_at=now())
                return False
            remove(backend, stray)
            Stray.objects.filter(pk=stray.pk).update(
                state=State.REMOVED, ended_at=now(), message=""
            )
            _record(SYSTEM, "stray.removed", stray, plan=stray.plan_id or "")
    except (NotNow, *AWAY) as why:
        Stray.objects.filter(pk=stray_id).update(message=str(why)[:500])
        log.warning("%s is not removed yet: %s", stray_id, why)
        return False
    say(f"removed {stray.get_kind_display().lower()} {stray.name}")
    return True


def _record(by: Actor, action: str, stray: Stray, **more: str) -> None:
    data = {
        "kind": stray.kind,
        "identity": stray.identity,
        "agent": stray.agent,
        "bytes": stray.bytes,
        **more,
    }
    organisation = stray.organisation
    record(by, action, stray.pk, organisation=organisation, label=stray.name, data=data)
