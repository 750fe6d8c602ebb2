"""The gateway's process: `uvicorn provisioner.gateway.asgi:application`, on loopback or behind
the same origin as the dashboard."""

import logging
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.local")
django.setup()

from provisioner.gateway.app import make_app  # noqa: E402  needs Django to be set up
from provisioner.gateway.quiet import without_queries  # noqa: E402

# The server names every address it was asked for; those of agents' pages may hold their secrets.
for _name in ("uvicorn.access", "uvicorn.error"):
    logging.getLogger(_name).addFilter(without_queries)

application = make_app()
