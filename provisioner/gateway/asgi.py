"""The gateway's process: `uvicorn provisioner.gateway.asgi:application`, on loopback or behind
the same origin as the dashboard."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.local")
django.setup()

from provisioner.gateway.app import make_app  # noqa: E402  needs Django to be set up

application = make_app()
