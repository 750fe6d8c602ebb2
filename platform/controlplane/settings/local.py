"""One machine, one command: what `make up` runs."""

from controlplane.settings.base import *  # noqa: F403

SESSION_COOKIE_NAME = "roost_session"
