"""What the shell of every page shows. Cheap, and asks the database only when the shell is drawn."""

from importlib.metadata import version
from typing import Any

from django.http import HttpRequest

from controlplane.tenants.models import Organisation, User

THEMES = {"light", "dark"}
VERSION = version("roost")


def theme_of(request: HttpRequest) -> str:
    """Light, dark, or empty for what the system says. Written by theme.js."""
    theme = request.COOKIES.get("theme", "")
    return theme if theme in THEMES else ""


def shell(request: HttpRequest) -> dict[str, Any]:
    def organisations() -> list[Organisation]:
        if not isinstance(request.user, User):
            return []
        return list(Organisation.objects.of(request.user).order_by("name"))

    # A template calls what is callable, so pages without the shell pay for nothing.
    return {"theme": theme_of(request), "version": VERSION, "organisations": organisations}
