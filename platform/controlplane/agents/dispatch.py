"""How the control plane wakes the provisioner: by task name, never by import."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from controlplane.agents.models import Agent

log = logging.getLogger(__name__)

RECONCILE_AGENT = "provisioner.reconcile_agent"


def request_reconcile(agent: Agent) -> None:
    """Ask for a pass once the row is committed.

    A lost message costs a second or two, not an agent: the node's sweep finds every
    row whose generation was not yet observed.
    """
    task = current_app.signature(RECONCILE_AGENT, args=[agent.pk], queue=f"node.{agent.node}")

    def publish() -> None:
        try:
            task.delay()
        except (OperationalError, OSError) as error:
            log.warning("queue away, the sweep will find %s: %s", agent.pk, error)

    transaction.on_commit(publish, robust=True)
