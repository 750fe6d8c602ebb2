"""For benchmarks without an engine: the real database, its pool and the queue; the shipped fake."""

import os

os.environ.setdefault("SECRET_KEY", "for-benchmarks-only")

from controlplane.settings.base import *  # noqa: F403
from controlplane.settings.base import LOGGING

ROOST_ENGINE = "fake"
ROOST_WORKSPACE_DRIVER = "fake"
ROOST_STANDIN_URL = "http://127.0.0.1:1/v1"
VAULT_BACKEND = "controlplane.keys.vault.memory.MemoryVault"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
LOGGING["root"]["level"] = "WARNING"  # type: ignore[index]
