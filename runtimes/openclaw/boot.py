"""How settings and keys become OpenClaw's configuration and its file of secrets, both on a tmpfs.

Runs inside the container, called by the boot shim; standard library only. Raises ValueError for
settings OpenClaw cannot be started with. The configuration names keys only by their place in the
secrets file, and OpenClaw is told never to write it (OPENCLAW_CONFIG_READONLY).
"""

import json
import os
import re
from pathlib import Path
from typing import Any

PACKAGE = "/opt/openclaw/node_modules/openclaw"
ARGV = [
    *("/opt/node/bin/node", "--import", "/opt/openclaw/door.mjs"),
    *(f"{PACKAGE}/openclaw.mjs", "gateway", "run"),
]
PORT = 18789

# Our provider -> OpenClaw's provider, the wire it speaks, the path its base URL ends with.
PROVIDERS = {
    "anthropic": ("anthropic", "anthropic-messages", ""),
    "openai": ("openai", "openai-responses", "/v1"),
    "gemini": ("google", "google-generative-ai", "/v1beta"),
    "custom": ("custom", "openai-completions", "/v1"),
}
VENDORS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}
PLUGINS = ["memory-core", "web-readability", "document-extract"]
# An endpoint's own model is in no catalogue. Deliberately small: too large a number only fails
# when it is too late.
OWN_MODEL = {"reasoning": False, "input": ["text"], "contextWindow": 128_000, "maxTokens": 8192}
# What door.mjs says of whoever brought the agent's token. It is in OpenClaw's own process, so all
# that is left to trust here is that nobody outside can get past it.
PERSON_HEADER, PERSON = "x-roost-person", "owner"
OUTSIDE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]


def render(
    settings: dict[str, Any], keys: dict[str, Any], run: Path
) -> tuple[list[str], dict[str, str]]:
    """Write both files below `run`; return the command line and what it needs around it."""
    folder = run / "openclaw"
    folder.mkdir(mode=0o700, exist_ok=True)
    secrets = folder / "keys.json"
    content = config(settings, secrets)
    write(secrets, json.dumps(secret_values(keys)))
    write(folder / "openclaw.json", json.dumps(content, indent=1))
    return list(ARGV), {
        "OPENCLAW_CONFIG_PATH": str(folder / "openclaw.json"),
        "OPENCLAW_CONFIG_READONLY": "1",
        "OPENCLAW_STATE_DIR": "/workspace/.openclaw",
        "OPENCLAW_DISABLE_BONJOUR": "1",
        "OPENCLAW_NO_AUTO_UPDATE": "1",
        "OPENCLAW_NO_RESPAWN": "1",
        "OPENCLAW_OFFLINE": "1",
    }


def config(settings: dict[str, Any], secrets: Path) -> dict[str, Any]:
    background = settings.get("background") is True
    agents, models, plugin = model_of(settings)
    plugins = [*([plugin] if plugin else []), *PLUGINS]
    return {
        "gateway": gateway(settings),
        "agents": {
            "defaults": agents
            | {"workspace": "/workspace/agent", "skipBootstrap": True}
            | ({} if background else {"heartbeat": {"every": "0m"}, "utilityModel": ""})
        },
        "models": models,
        # A conversation is one for life: no reset by the clock.
        "session": {"reset": {"mode": "none"}},
        "plugins": {
            "allow": plugins,
            "entries": {"memory-core": {"config": {"dreaming": {"enabled": background}}}},
        },
        "browser": {"enabled": False},
        "update": {"checkOnStart": False},
        "logging": {"consoleLevel": "warn"},
        "secrets": {
            "providers": {"roost": {"source": "file", "path": str(secrets), "mode": "json"}}
        },
    }


def gateway(settings: dict[str, Any]) -> dict[str, Any]:
    """Who may come in: through the door, and this container's own programs by password."""
    origin = settings.get("web_origin")
    shown = isinstance(origin, str) and bool(origin)
    return {
        "mode": "local",
        "bind": "lan",
        "port": PORT,
        "trustedProxies": OUTSIDE,
        "auth": {
            "mode": "trusted-proxy",
            "password": secret("/gateway"),
            "identityScopes": {PERSON: ["operator.admin"]},
            "trustedProxy": {
                "userHeader": PERSON_HEADER,
                "allowUsers": [PERSON],
                # People have signed in at the platform: their browser needs no pairing code.
                "deviceAutoApprove": {"enabled": True},
            },
        },
        "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        "controlUi": {
            "enabled": shown,
            # Named outright, or OpenClaw copies these 54 MB into the workspace.
            "root": f"{PACKAGE}/dist/control-ui",
            "allowedOrigins": [origin] if shown else [],
            "communityInvite": False,
        },
        "terminal": {"enabled": False},
    }


def model_of(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str | None]:
    """The agent's model, its provider, and the plugin that knows the provider."""
    chosen = text(settings, "provider")
    if chosen not in PROVIDERS:
        raise ValueError(f"provider {chosen!r} is not one of {', '.join(PROVIDERS)}")
    name, wire, _ = PROVIDERS[chosen]
    model = text(settings, "model")
    known = chosen != "custom"
    provider: dict[str, Any] = {
        "api": wire,
        # Its own loop. Left open, OpenAI's models mean Codex, which is fetched at every start.
        "agentRuntime": {"id": "openclaw"},
        "baseUrl": base_url(settings, chosen),
        "apiKey": secret("/provider"),
        "models": [] if known else [{"id": model, "name": model, **OWN_MODEL}],
    }
    allowed = f"{name}/*"
    agents = {
        "model": {"primary": f"{name}/{model}"},
        "models": {allowed: {}},
        "modelPolicy": {"allow": [allowed]},
    }
    return agents, {"mode": "merge", "providers": {name: provider}}, name if known else None


def base_url(settings: dict[str, Any], chosen: str) -> str:
    """Where the model is, in the form this wire wants: people write it with and without /v1."""
    given = settings.get("base_url") or VENDORS.get(chosen)
    if not isinstance(given, str) or not given:
        raise ValueError(f"provider {chosen!r} needs a base_url")
    host, path = split(given)
    end = PROVIDERS[chosen][2]
    if not end:
        path = path.removesuffix("/v1")
    elif not path or (end != "/v1" and path == "/v1"):
        path = end
    return host + path


def split(url: str) -> tuple[str, str]:
    found = re.fullmatch(r"(https?://[^/\s?#]+)(/[^\s?#]*)?", url)
    if not found:
        raise ValueError(f"base_url {url!r} is not an address such as https://host/v1")
    return found[1], (found[2] or "").rstrip("/")


def secret(place: str) -> dict[str, str]:
    return {"source": "file", "provider": "roost", "id": place}


def secret_values(keys: dict[str, Any]) -> dict[str, str]:
    # Its own programs, too, must find a key where an endpoint wants none.
    provider = keys.get("provider_key") or "none"
    return {
        "gateway": header_safe("gateway key", keys["gateway"]),
        "provider": header_safe("provider key", provider),
    }


def text(settings: dict[str, Any], name: str) -> str:
    value = settings.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing")
    return value


def header_safe(what: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]+", value):
        raise ValueError(f"the {what} holds characters that cannot be sent in a header")
    return value


def write(path: Path, content: str) -> None:
    """0600 from its first moment; an old one of an earlier start is replaced."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
