"""What a program of the stack is, and the bare environment all of them start from."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local.errors import CheckFailed
from deploy.local.layout import REPOSITORY

# What a child may need of the user's environment; nothing else is passed on.
PASSED_ON = (
    "HOME", "LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "EXTRA_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
)  # fmt: skip
# A shell of root made by `su` or cron may lack these, and mkfs, ip and nft live there.
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Program:
    """One line of argv and an environment; stopping it takes at most `stop_wait_s`."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    directory: Path = REPOSITORY
    # Alive for that long counts as started.
    start_s: int = 1
    stop_signal: str = "TERM"
    stop_wait_s: int = 10


def search_path(environ: Mapping[str, str]) -> str:
    """PATH with the system's own directories behind it."""
    given = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*given, *(path for path in SYSTEM_PATHS if path not in given)])


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    passed = {name: environ[name] for name in PASSED_ON if environ.get(name)}
    return {**passed, "PATH": search_path(environ), "PYTHONUNBUFFERED": "1"}


def wheel_dir(package: str) -> Path:
    """Where an installed wheel lies, found without running its code."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CheckFailed(
            f"The Python package {package} is not installed.",
            "Run `make up`, which installs what requirements.lock lists.",
        )
    return Path(next(iter(spec.submodule_search_locations)))
