"""How a node is told of a new job: by task name, never by import. Its sweep finds it anyway."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from controlplane.jobs.models import Job

log = logging.getLogger(__name__)

TASK = "provisioner.begin_job"


def request_job(job: Job) -> None:
    arguments = [job._meta.label_lower, job.pk]
    task = current_app.signature(TASK, args=arguments, queue=f"node.{job.agent.node}")

    def publish() -> None:
        try:
            task.delay()
        except (OperationalError, OSError) as error:
            log.warning("queue away, the sweep will find %s: %s", job.pk, error)

    transaction.on_commit(publish, robust=True)
