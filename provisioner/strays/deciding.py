"""What an operator can say about a stray beside adopting and reaping it: leave it alone."""

from django.db import transaction

from controlplane.audit.actor import Actor
from controlplane.audit.models import AuditEvent
from controlplane.audit.record import record
from controlplane.errors import NotFound
from provisioner.strays.models import State, Stray

IGNORED, HEEDED = "stray.ignored", "stray.heeded"
HEEDABLE = (State.IGNORED, State.REMOVING)


def ignore(by: Actor, stray_id: str) -> None:
    """It is shown as before, and no plan lists it. Raises NotFound."""
    _change(by, stray_id, (State.FOUND,), State.IGNORED, IGNORED)


def heed(by: Actor, stray_id: str) -> None:
    """Ignore it no longer, or call off its removal. Raises NotFound."""
    _change(by, stray_id, HEEDABLE, State.FOUND, HEEDED)


def ignored(stray_id: str) -> bool:
    """Whether that was the last that was said of it."""
    said = AuditEvent.objects.filter(target=stray_id, action__in=[IGNORED, HEEDED])
    return said.order_by("-pk").values_list("action", flat=True).first() == IGNORED


def _change(by: Actor, stray_id: str, before: tuple[State, ...], after: State, action: str) -> None:
    with transaction.atomic():
        rows = Stray.objects.filter(pk=stray_id, state__in=before)
        if not rows.update(state=after, plan=None, message=""):
            raise NotFound("This stray")
        stray = Stray.objects.get(pk=stray_id)
        record(by, action, stray.pk, organisation=stray.organisation, label=stray.name)
