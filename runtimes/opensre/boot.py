"""How settings and keys become OpenSRE's: names and addresses in the environment, keys in a file.

Runs inside the container, called by the boot shim; standard library only. Raises ValueError for
settings OpenSRE cannot be started with. The file lies on a tmpfs, never on the workspace.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

ARGV = ["/opt/opensre/bin/python", "-I", "-u", "-m", "runtimes.opensre.host"]

# Our provider -> OpenSRE's, and the vendor's own address. OpenSRE's provider "gemini" has no chat
# and takes no other address, so Gemini is spoken to through its OpenAI-shaped door.
PROVIDERS = {
    "anthropic": ("anthropic", "https://api.anthropic.com"),
    "openai": ("openai", "https://api.openai.com/v1"),
    "gemini": ("openai", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "custom": ("openai", None),
}
SMALLEST_GATEWAY_KEY = 16
# What an own endpoint that asks for no key gets: OpenSRE refuses to speak without one.
NO_KEY = "no-key-required"


def render(
    settings: dict[str, Any], keys: dict[str, Any], run: Path
) -> tuple[list[str], dict[str, str]]:
    """Write the host's file below `run`; return the command line and what it needs around it."""
    theirs = provider_of(settings)[0].upper()
    model = text(settings, "model")
    path = run / "opensre.json"
    write(path, json.dumps(host_config(settings, keys, f"{theirs}_API_KEY")))
    return list(ARGV), {
        "OPENSRE_HOST_CONFIG": str(path),
        "LLM_PROVIDER": theirs.lower(),
        f"{theirs}_REASONING_MODEL": model,
        f"{theirs}_TOOLCALL_MODEL": model,
        # Always: a variable that is not there could be set by a file in the workspace.
        f"{theirs}_BASE_URL": address(settings),
    }


def host_config(settings: dict[str, Any], keys: dict[str, Any], key_name: str) -> dict[str, str]:
    token = header_safe("gateway key", keys["gateway"])
    if len(token) < SMALLEST_GATEWAY_KEY:
        raise ValueError(f"the gateway key is shorter than {SMALLEST_GATEWAY_KEY} characters")
    key = NO_KEY if settings["provider"] == "custom" else ""
    if keys.get("provider_key"):
        key = header_safe("provider key", keys["provider_key"])
    return {"token": token, "key_name": key_name, "key": key}


def provider_of(settings: dict[str, Any]) -> tuple[str, str | None]:
    name = text(settings, "provider")
    if name not in PROVIDERS:
        raise ValueError(f"provider {name!r} is not one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name]


def address(settings: dict[str, Any]) -> str:
    """The base URL as the vendor's library wants it, from what a person may have typed."""
    _, default = provider_of(settings)
    if default and not settings.get("base_url"):
        return default
    url = text(settings, "base_url").rstrip("/")
    match settings["provider"]:
        case "anthropic":
            return url.removesuffix("/v1")
        case "gemini" if url.endswith("/v1beta"):
            return f"{url}/openai"
        case "gemini" if bare(url):
            return f"{url}/v1beta/openai"
    return f"{url}/v1" if bare(url) else url


def bare(url: str) -> bool:
    return re.fullmatch(r"https?://[^/]+", url) is not None


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
