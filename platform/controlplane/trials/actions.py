"""What people can do: have a snapshot tried now. The plan does the same by itself."""

import secrets

from django.db import IntegrityError, transaction

from controlplane.audit.record import record
from controlplane.jobs.dispatch import request_job
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.access import Access
from controlplane.tenants.models import Organisation
from controlplane.trials.errors import NothingToTry, TrialUnderWay
from controlplane.trials.models import Outcome, TrialRestore

KEPT = 100  # of one organisation
PLAN = "the plan"  # who asked for one that nobody asked for


def start_trial(access: Access) -> TrialRestore:
    """Bring back one of the organisation's off-site snapshots, chosen at random, and compare it.
    Raises NothingToTry, TrialUnderWay."""
    access.require("agents:write")
    with transaction.atomic():
        trial = add_trial(access.organisation, access.actor.label)
        record(
            access.actor,
            "organisation.trial_restore",
            trial.pk,
            organisation=access.organisation.pk,
            label=access.organisation.name,
            data={"snapshot": trial.snapshot_id, "agent": trial.agent_id},
        )
    return trial


def add_trial(organisation: Organisation, by: str) -> TrialRestore:
    """For people's wishes and for the plan; call inside a transaction."""
    found = triable(organisation)
    if not found:
        raise NothingToTry(organisation.name)
    snapshot = secrets.choice(found)
    try:
        with transaction.atomic():
            trial = TrialRestore.objects.create(
                organisation=organisation, agent=snapshot.agent, snapshot=snapshot, requested_by=by
            )
    except IntegrityError as error:
        raise TrialUnderWay(organisation.name) from error
    _forget_old(organisation)
    request_job(trial)
    return trial


def triable(organisation: Organisation) -> list[Snapshot]:
    """Those whose off-site copy was good once, also of an agent in its time of grace."""
    rows = Snapshot.objects.kept().filter(agent__organisation=organisation, removed_at=None)
    rows = rows.exclude(verified_at=None).exclude(offsite_id="").exclude(manifest_sha256="")
    return list(rows.select_related("agent"))


def _forget_old(organisation: Organisation) -> None:
    """The newest that failed stays: the alarm speaks of it."""
    rows = TrialRestore.objects.of(organisation).order_by("-created_at", "-pk")
    newest = list(rows.values_list("pk", flat=True)[:KEPT])
    telling = list(rows.filter(outcome=Outcome.DIFFERS).values_list("pk", flat=True)[:1])
    rows.exclude(pk__in=[*newest, *telling]).delete()
