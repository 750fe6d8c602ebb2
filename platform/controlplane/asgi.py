"""The web process: dashboard, admin and REST API. It speaks to no engine."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.local")

application = get_asgi_application()
