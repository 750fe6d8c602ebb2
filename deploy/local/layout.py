"""Where an installation keeps its things, and what it is called: nothing here touches the disk."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from deploy.local.errors import CheckFailed

REPOSITORY = Path(__file__).resolve().parents[2]
DEFAULT_INSTALLATION = "local"
DEFAULT_PORT = 8700
LAST_PORT = 65522
DEFAULT_POOL = "10.213.0.0/16"
# sockaddr_un holds 108 bytes with the closing zero; supervisord first binds a name with its pid.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET_NAME = "supervisor.sock.4194304"


@dataclass(frozen=True)
class Installation:
    """Everything that follows from ROOST_STATE_DIR, ROOST_INSTALLATION, ROOST_PORT and the user."""

    state_dir: Path
    run_dir: Path
    name: str = DEFAULT_INSTALLATION
    node: str = "node-1"
    port: int = DEFAULT_PORT
    pool: IPv4Network = field(default_factory=lambda: IPv4Network(DEFAULT_POOL))
    root: bool = False

    @property
    def web_port(self) -> int:
        return self.port

    @property
    def model_port(self) -> int:
        return self.port + 1

    @property
    def gateway_port(self) -> int:
        return self.port + 2

    @property
    def vault_port(self) -> int:
        return self.port + 3

    @property
    def store_port(self) -> int:
        """Of S3; its inner ports are the next nine, and one ten thousand above."""
        return self.port + 4

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def log_dir(self) -> Path:
        return self.state_dir / "log"

    @property
    def stopped(self) -> Path:
        """There after a complete `down`: no agent of ours can be running."""
        return self.state_dir / "stopped"

    @property
    def keys_dir(self) -> Path:
        """Where agents' keys lie: a tmpfs the node mounts, or shared memory without root."""
        if self.root:
            return self.state_dir / "keys"
        return Path("/dev/shm") / f"roost-{short_hash(self.state_dir)}"  # noqa: S108

    @property
    def pool_address(self) -> str:
        """The first address of the pool's last /24: platform services listen there."""
        return str(self.pool.broadcast_address - 254)


def short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:10]


def socket_dir(state_dir: Path, environ: Mapping[str, str], uid: int) -> Path:
    """`<state>/run`, or a short directory elsewhere where socket paths would be too long."""
    wanted = state_dir / "run"
    longest = wanted / LONGEST_SOCKET_NAME
    if len(os.fsencode(longest)) <= SOCKET_PATH_LIMIT:
        return wanted
    base = environ.get("XDG_RUNTIME_DIR") or "/tmp"  # noqa: S108
    return Path(base) / f"roost-{uid}-{short_hash(state_dir)}"


def from_environ(environ: Mapping[str, str], uid: int) -> Installation:
    """Read the installation from the environment; a bad value is a `CheckFailed` naming it."""
    state_dir = Path(environ.get("ROOST_STATE_DIR") or REPOSITORY / "var")
    if not state_dir.is_absolute():
        raise CheckFailed(
            f"ROOST_STATE_DIR is {str(state_dir)!r}, which is not an absolute path.",
            "Set it to a full path such as /srv/roost.",
        )
    # It becomes part of URLs, of supervisord's format strings and of the vault's configuration.
    if not re.fullmatch(r"[A-Za-z0-9._+@/-]+", str(state_dir)):
        raise CheckFailed(
            f"The state directory {str(state_dir)!r} holds characters that some programs cannot"
            " take.",
            "Set ROOST_STATE_DIR to a path of letters, digits and . _ + @ - only.",
        )
    return Installation(
        state_dir=state_dir,
        run_dir=socket_dir(state_dir, environ, uid),
        name=_slug(environ, "ROOST_INSTALLATION", DEFAULT_INSTALLATION, 12),
        node=_slug(environ, "ROOST_NODE", "node-1", 40),
        port=_port(environ),
        pool=_pool(environ),
        root=uid == 0,
    )


def _slug(environ: Mapping[str, str], name: str, default: str, longest: int) -> str:
    value = environ.get(name) or default
    if len(value) > longest or not re.fullmatch(r"[a-z][a-z0-9-]*", value):
        raise CheckFailed(
            f"{name} is {value!r}.",
            f"Use at most {longest} lower-case letters, digits and dashes, a letter first.",
        )
    return value


def _port(environ: Mapping[str, str]) -> int:
    value = environ.get("ROOST_PORT") or str(DEFAULT_PORT)
    if not value.isascii() or not value.isdigit() or not 1024 <= int(value) <= LAST_PORT:
        raise CheckFailed(
            f"ROOST_PORT is {value!r}.",
            f"Use a number from 1024 to {LAST_PORT}: this port and the next 13 are taken.",
        )
    return int(value)


def _pool(environ: Mapping[str, str]) -> IPv4Network:
    value = environ.get("ROOST_NETWORK_POOL") or DEFAULT_POOL
    try:
        pool = IPv4Network(value)
    except ValueError as error:
        raise CheckFailed(
            f"ROOST_NETWORK_POOL is {value!r}, which is not an IPv4 network.",
            f"Use a private range such as {DEFAULT_POOL}.",
        ) from error
    if pool.prefixlen > 23 or not pool.is_private:
        raise CheckFailed(
            f"ROOST_NETWORK_POOL is {value}, which is too small or not private.",
            "Use a private range of /23 or larger.",
        )
    return pool
