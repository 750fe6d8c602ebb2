"""Who listens on a TCP port, read from /proc."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from deploy.local import processes

LISTEN = "0A"


@dataclass(frozen=True)
class Listener:
    """A listening socket; `pid` is None where the owner cannot be seen (another user's)."""

    address: str
    pid: int | None

    @property
    def owner(self) -> str:
        if self.pid is None:
            return "a process of another user"
        return f"{processes.name(self.pid)} (pid {self.pid})"


def listeners(port: int, address: str) -> list[Listener]:
    """The sockets that keep a server from binding `address`:`port`."""
    every = {address, "0.0.0.0", "::"}  # noqa: S104 - compared, not bound
    found = [(where, inode) for where, inode in _listening(port) if where in every]
    return [Listener(where, _owner(inode)) for where, inode in found]


def _listening(port: int) -> Iterator[tuple[str, str]]:
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            where, _, number = fields[1].partition(":")
            if fields[3] == LISTEN and int(number, 16) == port:
                yield _address(where), fields[9]


def _address(text: str) -> str:
    # The kernel prints each 32-bit word in the machine's own (little-endian) order.
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    if len(words) == 1:
        return str(IPv4Address(words[0]))
    address = IPv6Address(b"".join(words))
    return str(address.ipv4_mapped or address)


def _owner(inode: str) -> int | None:
    wanted = f"socket:[{inode}]"
    return next((pid for pid in processes.everyone() if wanted in _open_files(pid)), None)


def _open_files(pid: int) -> Iterator[str]:
    """What a process has open; nothing where that may not be seen or it has just ended."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            yield os.readlink(f"{folder}/{name}")
