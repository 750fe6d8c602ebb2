"""The node's round over archives in the store: what is kept no longer goes, and it is tried again
until it is gone."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.jobs.models import JobStatus
from controlplane.portability.models import UPLOAD_S, Export, Import
from provisioner.offsite import place
from provisioner.offsite.errors import OffsiteError
from provisioner.portability.export import key_of, let_go

log = logging.getLogger(__name__)

AT_ONCE = 50
ENDED = (JobStatus.DONE, JobStatus.FAILED)
GIVEN_UP = Q(status=JobStatus.FAILED, kept_until=None)  # by the node: see jobs.claim


def remove_archives() -> int:
    """Exports whose time is over or that were given up, and uploads that were used or that nobody
    used, once nothing more can be uploaded in their place; returns how many are gone."""
    if not settings.S3_ENDPOINT_URL:
        return 0
    exports = Export.objects.filter(
        Q(kept_until__lt=now(), status__in=ENDED) | GIVEN_UP,
        agent__node=settings.ROOST_NODE,
        removed_at=None,
    )
    closed = now() - timedelta(seconds=UPLOAD_S)
    imports = Import.objects.filter(removed_at=None).filter(
        Q(agent=None, expires_at__lt=closed)
        | Q(agent__node=settings.ROOST_NODE, status__in=ENDED, finished_at__lt=closed)
    )
    done = 0
    for export in exports.select_related("agent", "snapshot")[:AT_ONCE]:
        let_go(export)  # of one that was given up; others did so themselves
        done += _remove(export, key_of(export))
    for found in imports[:AT_ONCE]:
        done += _remove(found, place.import_key(found.organisation_id, found.pk))
    return done


def remove_agent(agent: Agent) -> None:
    """Of one that is gone for good. Raises OffsiteError."""
    if not settings.S3_ENDPOINT_URL:
        return
    if agent.exports.filter(removed_at=None).exists():
        place.forget_exports(agent.organisation_id, agent.pk)
    for found in agent.imports.all():  # also what was uploaded after it was used
        place.forget_object(place.import_key(found.organisation_id, found.pk))


def _remove(row: Export | Import, key: str) -> bool:
    try:
        place.forget_object(key)
    except OffsiteError as error:
        log.warning("the archive of %s is not removed yet: %s", row.pk, error)
        return False
    row.removed_at = now()
    row.save(update_fields=["removed_at"])
    return True
