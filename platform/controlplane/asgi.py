"""The web process: dashboard, admin and REST API. It speaks to no engine."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.local")

_django = get_asgi_application()

from controlplane.api.door import Door  # noqa: E402  needs Django to be set up

application = Door(_django)  # type: ignore[arg-type]  # two spellings of ASGI's types
