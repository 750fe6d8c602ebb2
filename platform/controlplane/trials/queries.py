"""Reads that more than one caller needs. Each starts at the organisation."""

from django.db.models import OuterRef, QuerySet, Subquery

from controlplane.agents.models import Agent
from controlplane.errors import NotFound
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.access import Access
from controlplane.trials.models import Outcome, TrialRestore


def trials_of(access: Access) -> QuerySet[TrialRestore]:
    """Newest first."""
    rows = TrialRestore.objects.of(access.organisation).select_related("agent", "snapshot")
    return rows.order_by("-created_at", "-pk")


def get_trial(access: Access, trial_id: str) -> TrialRestore:
    """Raises NotFound, also for other organisations' ones."""
    found = trials_of(access).filter(pk=trial_id).first()
    if found is None:
        raise NotFound("This trial restore")
    return found


def last_told(access: Access) -> TrialRestore | None:
    """The newest that says how the off-site copies are."""
    rows = TrialRestore.objects.of(access.organisation).told().select_related("agent", "snapshot")
    return rows.order_by("-created_at", "-pk").first()


def spoiled_of(agent: Agent) -> QuerySet[Snapshot]:
    """Those that are kept, and whose last trial failed."""
    trials = TrialRestore.objects.told().filter(snapshot=OuterRef("pk"))
    last = Subquery(trials.order_by("-created_at", "-pk").values("outcome")[:1])
    return (
        Snapshot.objects.kept().filter(agent=agent).annotate(last=last).filter(last=Outcome.DIFFERS)
    )
