"""Celery's way in: an id comes, a pass is made. The work is in reconcile.py."""

import logging

from celery import shared_task
from django.db import DatabaseError

from provisioner.backend import get_backend
from provisioner.reconcile import reconcile

log = logging.getLogger(__name__)


@shared_task(name="provisioner.reconcile_agent")  # type: ignore[untyped-decorator]
def reconcile_agent(agent_id: str) -> None:
    """A nudge. Where it fails, or comes while another worker is at it, the sweep goes on."""
    try:
        reconcile(agent_id, get_backend())
    except DatabaseError as error:
        log.warning("pass over %s broken off, the sweep goes on: %s", agent_id, error)
