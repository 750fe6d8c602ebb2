"""Celery's way in: an id comes, a pass is made. The work is in reconcile.py."""

import logging

from celery import shared_task
from django.db import DatabaseError

from provisioner.backend import get_backend
from provisioner.jobs import launch
from provisioner.reconcile import reconcile

log = logging.getLogger(__name__)


@shared_task(name="provisioner.reconcile_agent")  # type: ignore[untyped-decorator]
def reconcile_agent(agent_id: str) -> None:
    """A nudge. Where it fails, or comes while another worker is at it, the sweep goes on."""
    try:
        reconcile(agent_id, get_backend())
    except DatabaseError as error:
        log.warning("pass over %s broken off, the sweep goes on: %s", agent_id, error)


@shared_task(name="provisioner.begin_job")  # type: ignore[untyped-decorator]
def begin_job(kind: str, job_id: str) -> None:
    """A nudge, like the one above: the node's sweep finds the job too."""
    try:
        launch.nudge(kind, job_id)
    except DatabaseError as error:
        log.warning("job %s not begun, the sweep will: %s", job_id, error)
