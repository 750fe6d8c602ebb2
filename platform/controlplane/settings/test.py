"""For the test suite: real PostgreSQL, and fakes only at the outermost edge."""

import os

# tests/conftest.py starts the services and exports their addresses before Django is set up. The
# values below only let tools that never open a connection (mypy, lint) import the settings.
os.environ.setdefault("SECRET_KEY", "insecure-for-tests-only")
os.environ.setdefault("DATABASE_URL", "postgresql:///roost")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")
os.environ.setdefault("GATEWAY_SECRET", "gateway-secret-for-tests-only-000000")

from controlplane.settings.base import *  # noqa: F403
from controlplane.settings.base import DATABASES, LOGGING

# The test database is dropped at the end, which a pool's open connections would refuse.
del DATABASES["default"]["OPTIONS"]["pool"]

ROOST_ENGINE = "fake"
ROOST_WORKSPACE_DRIVER = "fake"
ROOST_STANDIN_URL = "http://10.213.255.1:8701/v1"
# Nothing that a test does leaves this machine: names have no address, and no provider listens.
ROOST_OUTBOUND_ALLOW = ["127.0.0.0/8"]
ROOST_RESOLVER = "controlplane.outbound.names.nowhere"
ROOST_PROVIDER_URLS = dict.fromkeys(("anthropic", "openai", "gemini"), "http://127.0.0.1:1")
VAULT_BACKEND = "controlplane.keys.vault.memory.MemoryVault"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True  # STATIC_ROOT was never collected here
CELERY_BROKER_URL = "memory://localhost/"
LOGGING["root"]["level"] = "WARNING"  # type: ignore[index]
