"""How settings and keys become Paperclip's environment and its command-line agents' model access.

Runs inside the container, called by the boot shim; standard library only. Raises ValueError for
settings Paperclip cannot be started with. What is secret lies on a tmpfs, never on the workspace.

Paperclip works through command-line agents: Claude Code for Anthropic, Codex for OpenAI, Pi for the
others. Each gets its key from the tmpfs by a way of its own, so no environment holds it.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

ARGV = ["/opt/node/bin/node", "/opt/paperclip/start.mjs"]
HOME = "/workspace/.paperclip"
HOSTS = Path("/etc/hosts")
FIND = "/usr/bin/find"
PROVIDERS = ("anthropic", "openai", "gemini", "custom")
OWN = ("tokens", "tool_actions", "decisions", "master")
GOOGLE = "https://generativelanguage.googleapis.com/v1beta"
# Where nothing says how much a model takes, Pi must be told; small enough for every current one.
CONTEXT_LENGTH, LONGEST_ANSWER = 128_000, 16_384
MASTER_KEY_LENGTH = 32

STEADY = {
    "HOST": "0.0.0.0",  # noqa: S104 - the container's own address
    "PORT": "3100",
    # How its agents reach it: people's address need not lead anywhere from in here.
    "PAPERCLIP_API_URL": "http://127.0.0.1:3100",
    "PAPERCLIP_HOME": HOME,
    "PAPERCLIP_DEPLOYMENT_MODE": "authenticated",
    "PAPERCLIP_DEPLOYMENT_EXPOSURE": "private",
    "PAPERCLIP_MIGRATION_AUTO_APPLY": "true",
    # A .env in the workspace could lock us out.
    "PAPERCLIP_DISABLE_CWD_ENV_FILE": "true",
    # Only the platform signs in, and from one address.
    "PAPERCLIP_AUTH_RATE_LIMIT_ENABLED": "false",
    # Workspaces have snapshots; its own hourly dumps would only fill them.
    "PAPERCLIP_DB_BACKUP_ENABLED": "false",
    "PAPERCLIP_ANNOUNCEMENTS_ENABLED": "false",
    "PAPERCLIP_TELEMETRY_DISABLED": "1",
    "DO_NOT_TRACK": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # Ten by itself, also for a refused key: three minutes until anybody learns of it.
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "PI_OFFLINE": "1",
    "NODE_ENV": "production",
}


def render(
    settings: dict[str, Any], keys: dict[str, Any], run: Path
) -> tuple[list[str], dict[str, str]]:
    """Write what is secret below `run`; return the command line and what it needs around it."""
    provider, model = text(settings, "provider"), text(settings, "model")
    if provider not in PROVIDERS:
        raise ValueError(f"provider {provider!r} is not one of {', '.join(PROVIDERS)}")
    folder = run / "paperclip"
    folder.mkdir(mode=0o700, exist_ok=True)
    own = {name: secret(keys["own"], name) for name in OWN}
    write(folder / ".env", "".join(f"{k}='{v}'\n" for k, v in signing(own).items()))
    write(folder / "master.key", own["master"][:MASTER_KEY_LENGTH])
    key = header_safe(keys.get("provider_key"))
    for name, content in access(provider, model, base_url(settings), key, folder).items():
        (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
        write(folder / name, content)
    scratch = Path(os.environ.get("HOME", "/workspace")) / ".tmp"
    empty(scratch)
    forget_snapshots(Path(HOME))
    return list(ARGV), {
        **STEADY,
        **names(settings, addresses(HOSTS.read_text()) if HOSTS.exists() else []),
        # Its own .env file lies beside the config file named here, which need not be there.
        "PAPERCLIP_CONFIG": str(folder / "config.json"),
        "PAPERCLIP_SECRETS_MASTER_KEY_FILE": str(folder / "master.key"),
        "PAPERCLIP_AUTH_DISABLE_SIGN_UP": "true" if keys["own"].get("token") else "false",
        "CODEX_HOME": str(folder / "codex"),
        "PI_CODING_AGENT_DIR": str(folder / "pi"),
        # /tmp runs no programs, and the command-line agents unpack some.
        "TMPDIR": str(scratch),
    }


def signing(own: dict[str, str]) -> dict[str, str]:
    """Signs people's sessions too: BETTER_AUTH_SECRET would be handed on to every agent."""
    return {
        "PAPERCLIP_AGENT_JWT_SECRET": own["tokens"],
        "PAPERCLIP_TOOL_ACTION_SIGNING_SECRET": own["tool_actions"],
        "PAPERCLIP_DECISION_SIGNING_SECRET": own["decisions"],
    }


def access(provider: str, model: str, url: str, key: str, folder: Path) -> dict[str, str]:
    """The files that bring one command-line agent to the model, by name."""
    if provider == "anthropic":
        lines = [f'set -- --settings {folder}/claude.json "$@"']
        lines += [f"export ANTHROPIC_BASE_URL={quoted(url)}"] if url else []
        helper = {"apiKeyHelper": f"cat {folder}/model.key"}
        return {
            "model.key": key,
            "claude.json": json.dumps(helper),
            "claude.sh": "\n".join(lines) + "\n",
        }
    if provider == "openai":
        option = quoted("openai_base_url=" + json.dumps(url))
        return {
            # Where codex looks is a link to this, in each agent's folder on the workspace.
            "codex/auth.json": json.dumps({"OPENAI_API_KEY": key}),
            "codex.sh": f'set -- -c {option} "$@"\n' if url else "",
        }
    google = provider == "gemini" and not url.endswith(("/v1", "/openai"))
    api = "google-generative-ai" if google else "openai-completions"
    entry = {
        "baseUrl": url,
        "api": api,
        # It must be told one, and sends it.
        "apiKey": key or "none",
        "models": [{"id": model, "contextWindow": CONTEXT_LENGTH, "maxTokens": LONGEST_ANSWER}],
    }
    return {
        "pi/models.json": json.dumps({"providers": {"roost": entry}}),
        # Asked before each run, in vain: seconds of a core to be told the one model there is.
        "pi/models.txt": f"provider  model\nroost  {model}\n",
        "pi.sh": f'[ "$1" != --list-models ] || exec cat {folder}/pi/models.txt\n',
    }


def names(settings: dict[str, Any], own: list[str]) -> dict[str, str]:
    """What it answers under: the container's own addresses, and people's if they have one."""
    origin = settings.get("web_origin")
    if not origin:
        return {"PAPERCLIP_ALLOWED_HOSTNAMES": ",".join(own)}
    found = re.fullmatch(r"https?://([\w.-]+)(:\d+)?", origin) if isinstance(origin, str) else None
    if not found:
        raise ValueError("web_origin is not an origin such as https://agent.example")
    return {
        "PAPERCLIP_PUBLIC_URL": origin,
        "PAPERCLIP_ALLOWED_HOSTNAMES": ",".join([found[1], *own]),
    }


def addresses(hosts: str) -> list[str]:
    """Those of this container, which the platform calls it by: the engine lists them here."""
    found = re.findall(r"^\s*(\d+(?:\.\d+){3})\s", hosts, re.MULTILINE)
    return [address for address in found if not address.startswith("127.")]


def base_url(settings: dict[str, Any]) -> str:
    """As the command-line agent wants it, whichever way it was typed; empty is the vendor's."""
    provider, given = settings["provider"], settings.get("base_url")
    if not given and provider == "custom":
        raise ValueError("base_url is missing")
    if not given:
        return GOOGLE if provider == "gemini" else ""
    if not isinstance(given, str) or not re.fullmatch(r"https?://[!-~]+", given):
        raise ValueError("base_url is not an address such as https://host/v1")
    url = given.rstrip("/")
    if provider == "anthropic":
        return url.removesuffix("/v1")
    bare = re.fullmatch(r"https?://[^/]+", url)
    return f"{url}/{'v1beta' if provider == 'gemini' else 'v1'}" if bare else url


def text(settings: dict[str, Any], name: str) -> str:
    value = settings.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing")
    return value


def secret(own: dict[str, Any], name: str) -> str:
    value = own.get(name)
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{48}", value):
        raise ValueError(f"the agent's own secret {name!r} is not there")
    return value


def header_safe(key: Any) -> str:
    """A key is what an HTTP header can carry; none is fine for an endpoint that asks for none."""
    if key is None:
        return ""
    if not isinstance(key, str) or not re.fullmatch(r"[!-~]+", key):
        raise ValueError("the provider key holds characters that cannot be sent in a header")
    return key


def quoted(value: str) -> str:
    """For sh, whatever it holds."""
    return "'" + value.replace("'", "'\\''") + "'"


def write(path: Path, content: str) -> None:
    """0600 from its first moment; an old one of an earlier start is replaced."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(content)


def empty(folder: Path) -> None:
    """There and empty: what an interrupted run left behind is of no use to the next.

    Scraps may be closed folders (Go's module cache is) or deeper than Python walks, so `find` does
    it; what even that cannot remove stays, for no scrap is worth not starting.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    find(folder, "-type", "d", "!", "-perm", "-700", "-exec", "chmod", "u+rwx", "{}", ";")
    find(folder, "-mindepth", "1", "-delete")


def forget_snapshots(home: Path) -> None:
    """Codex kept every secret in clear here, for each company, before it was told not to."""
    places = ("-path", "*/codex-home/shell_snapshots/*", "-delete")
    if home.is_dir():
        find(home / "instances", *places)


def find(*arguments: str | Path) -> None:
    """Follows no links, and goes on where it may not."""
    argv = [FIND, *map(str, arguments)]
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
