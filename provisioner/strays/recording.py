"""Keeping what a look found as rows for operators, and cutting unknown containers off."""

import logging
from collections.abc import Iterable

from django.conf import settings
from django.db import DataError, transaction
from django.utils.timezone import now

from controlplane.audit.models import AuditEvent
from provisioner import reach
from provisioner.backend import Backend
from provisioner.strays import deciding
from provisioner.strays.looking import Seen, look
from provisioner.strays.models import OPEN, Kind, State, Stray

log = logging.getLogger(__name__)
COLUMNS = ("name", "agent", "organisation", "bytes", "address", "spec")


def note(backend: Backend, kinds: Iterable[Kind] = Kind) -> int:
    """One look, written down; returns how many strays of these kinds there are. An unknown
    container goes on running and reaches nothing: nobody is stopped because a database is older
    than it."""
    before = reach.strangers()
    found, told = look(backend, kinds)
    with transaction.atomic():
        for seen in found:
            try:
                with transaction.atomic():
                    _keep(seen)
            except DataError as error:  # its oddness hides no other
                log.warning("%s %s cannot be noted: %s", seen.kind, seen.name[:200], error)
        _end_missing(found, told)
    if backend.guarded and reach.strangers() != before:
        reach.refresh()
    return len(found)


def _keep(seen: Seen) -> None:
    columns = {name: getattr(seen, name) for name in COLUMNS} | {"last_seen_at": now()}
    columns["organisation"] = seen.organisation or _organisation_of(seen.agent)
    key = {"node": seen.node, "kind": seen.kind, "identity": seen.identity}
    row, new = Stray.objects.get_or_create(**key, defaults=columns)
    again = row.state not in OPEN
    if again:
        alone = row.state == State.GONE and deciding.ignored(row.pk)
        state = State.IGNORED if alone else State.FOUND
        fresh = {"state": state, "first_seen_at": now(), "ended_at": None, "plan": None}
        columns |= fresh | {"message": ""}
    if not new:
        Stray.objects.filter(pk=row.pk).update(**columns)
    if new or again:
        log.warning("no row speaks of this %s: %s", seen.kind, seen.name)


def _organisation_of(agent: str) -> str:
    """As the audit log remembers it, which outlives the agent."""
    if not agent:
        return ""
    told = AuditEvent.objects.filter(target=agent).exclude(organisation="")
    return told.values_list("organisation", flat=True).first() or ""


def _end_missing(found: list[Seen], told: set[Kind]) -> None:
    """Of kinds that were seen as a whole. What is being removed is the reaper's to end."""
    rows = Stray.objects.at(settings.ROOST_NODE).filter(kind__in=told)
    seen = {(one.kind, one.identity) for one in found}
    gone = [
        row.pk
        for row in rows.filter(state__in=[State.FOUND, State.IGNORED])
        if (row.kind, row.identity) not in seen
    ]
    Stray.objects.filter(pk__in=gone).update(state=State.GONE, ended_at=now())
