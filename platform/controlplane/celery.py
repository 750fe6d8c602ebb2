"""The queue. Messages are nudges: losing one costs a second, never an agent."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.local")

app = Celery("roost")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
