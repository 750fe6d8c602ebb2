"""How settings and keys become Echo's: the token it asks for, in memory."""

import os
from pathlib import Path
from typing import Any

ARGV = ["/usr/bin/python3", "-I", "-S", "/opt/echo/server.py"]


def render(
    settings: dict[str, Any], keys: dict[str, Any], run: Path
) -> tuple[list[str], dict[str, str]]:
    for name in ("provider", "model"):
        if not isinstance(settings.get(name), str) or not settings[name]:
            raise ValueError(f"{name} is missing")
    if settings["provider"] != "custom":
        raise ValueError("provider must be custom")
    path = run / "token"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(keys["gateway"])
    return list(ARGV), {}
