"""How settings and keys become Hermes' managed scope: a config.yaml and .env that beat the user's.

Runs inside the container, called by the boot shim; standard library only. Raises ValueError for
settings Hermes cannot be started with. Both files lie on a tmpfs, never on the workspace.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

ARGV = [
    # Becomes what follows, and stays behind as a small process of its own.
    *("/usr/bin/python3", "-I", "-S", "/opt/roost/doorman.py"),
    *("/opt/hermes/bin/hermes", "gateway", "run", "-v", "--external-supervisor"),
]

# Our provider -> Hermes' provider, the variable of its key, the wire its base URL speaks.
PROVIDERS = {
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY", "anthropic_messages"),
    "openai": ("openai-api", "OPENAI_API_KEY", "chat_completions"),
    "gemini": ("gemini", "GEMINI_API_KEY", "chat_completions"),
    "custom": ("custom", "OPENAI_API_KEY", "chat_completions"),
}
# Without it the first turn waits for model lists on the internet. Deliberately no more than the
# smallest of the vendors' current models: too large a number only fails when it is too late.
CONTEXT_LENGTH = 200_000
# In its managed mode Hermes writes no keys into the workspace, but wants these folders to be there.
FOLDERS = ("cron", "sessions", "logs", "memories")
SMALLEST_GATEWAY_KEY = 16


def render(
    settings: dict[str, Any], keys: dict[str, Any], run: Path
) -> tuple[list[str], dict[str, str]]:
    """Write the managed scope below `run`; return the command line and what it needs around it."""
    managed = run / "hermes"
    managed.mkdir(mode=0o700, exist_ok=True)
    # JSON is YAML, so no value can be misread.
    write(managed / "config.yaml", json.dumps(config(settings, keys), indent=1))
    write(managed / ".env", "".join(f"{k}='{v}'\n" for k, v in pinned(settings, keys).items()))
    home = Path(os.environ.get("HERMES_HOME", "/workspace/.hermes"))
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (home, *(home / name for name in FOLDERS)):
        there(folder)
    return list(ARGV), {"HERMES_MANAGED_DIR": str(managed), "HERMES_MANAGED": "Roost"}


def config(settings: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    provider, key_name, wire = provider_of(settings)
    model = {"default": text(settings, "model"), "context_length": CONTEXT_LENGTH}
    if provider == "custom" or settings.get("base_url"):
        # Always Hermes' "custom" where there is a base URL: its vendors' providers forget theirs
        # (anthropic after a 401) and would take the key to the vendor.
        model |= {"provider": "custom", "base_url": text(settings, "base_url"), "api_mode": wire}
        if keys.get("provider_key"):
            model["api_key"] = f"${{{key_name}}}"
    else:
        model["provider"] = provider
    return {
        "model": model,
        # The container is the sandbox, and nobody sits at a prompt. Text: a bare off is false.
        "approvals": {"mode": "off"},
        "security": {"tirith_enabled": False, "allow_lazy_installs": False},
        # A conversation keeps its id for life, or the main one would fork at the first compaction.
        "compression": {"in_place": True},
    }


def pinned(settings: dict[str, Any], keys: dict[str, Any]) -> dict[str, str]:
    """What the workspace's own .env must not be able to change, and the keys: not in /proc."""
    _, key_name, _ = provider_of(settings)
    gateway = header_safe("gateway key", keys["gateway"])
    if len(gateway) < SMALLEST_GATEWAY_KEY:
        raise ValueError(f"the gateway key is shorter than {SMALLEST_GATEWAY_KEY} characters")
    values = {
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": "0.0.0.0",  # noqa: S104 - the container's own address
        "API_SERVER_PORT": "8642",
        "API_SERVER_KEY": gateway,
        # Its own respawn breaker would sleep up to 300 s; the control plane keeps the budget.
        "HERMES_GATEWAY_MAX_STARTS": "0",
        "HERMES_DISABLE_LAZY_INSTALLS": "1",
        # Its Files page shows the workspace, not this folder.
        "HERMES_DASHBOARD_FILES_ROOT": "/workspace",
    }
    if password := keys.get("own", {}).get("dashboard"):
        values["HERMES_DASHBOARD_BASIC_AUTH_USERNAME"] = "roost"
        values["HERMES_DASHBOARD_BASIC_AUTH_PASSWORD"] = header_safe("password", password)
    if origin := settings.get("web_origin"):
        values["HERMES_DASHBOARD_PUBLIC_URL"] = header_safe("web origin", origin)
    if keys.get("provider_key"):
        values[key_name] = header_safe("provider key", keys["provider_key"])
    return values


def provider_of(settings: dict[str, Any]) -> tuple[str, str, str]:
    name = text(settings, "provider")
    if name not in PROVIDERS:
        raise ValueError(f"provider {name!r} is not one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name]


def text(settings: dict[str, Any], name: str) -> str:
    value = settings.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing")
    return value


def header_safe(what: str, value: Any) -> str:
    """Values of the .env: what an HTTP header can carry, and nothing its reader would rewrite."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]+", value):
        raise ValueError(f"the {what} holds characters that cannot be sent in a header")
    if "'" in value or "\\" in value or "${" in value:
        raise ValueError(f"the {what} holds a quote, a backslash or ${{, which no key has")
    return value


def there(folder: Path) -> None:
    """A folder that can be written to. What lies in its place instead is put aside, not lost."""
    if os.path.lexists(folder) and not folder.is_dir():
        folder.rename(folder.with_name(f"{folder.name}.aside"))
    folder.mkdir(mode=0o700, exist_ok=True)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        folder.chmod(0o700)


def write(path: Path, content: str) -> None:
    """0600 from its first moment; an old one of an earlier start is replaced."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
