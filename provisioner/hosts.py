"""Which ports a name may be reached on, by an agent's list of hosts (see agents.egress). Pure."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

NAME = re.compile(r"[a-z0-9_.-]{1,253}")  # other bytes could carry more than a name
WEB = frozenset({80, 443})  # of an entry that names no port


@dataclass(frozen=True)
class Hosts:
    exact: dict[str, frozenset[int]] = field(default_factory=dict)
    below: dict[str, frozenset[int]] = field(default_factory=dict)  # by the name after `*.`
    fixed: tuple[tuple[str, int], ...] = ()  # numeric addresses, which need no name

    def ports(self, name: str) -> frozenset[int]:
        """Empty: it may not be reached. `name` is as DNS has it, in any case, dotted or not."""
        wanted = _ascii(name)
        if not NAME.fullmatch(wanted):
            return frozenset()
        found = self.exact.get(wanted, frozenset())
        parts = wanted.split(".")
        for cut in range(1, len(parts)):
            found |= self.below.get(".".join(parts[cut:]), frozenset())
        return found


@lru_cache(maxsize=4096)
def read(entries: Sequence[str]) -> Hosts:
    """A list as the database has it, a tuple. What cannot be read allows nothing."""
    exact: dict[str, frozenset[int]] = {}
    below: dict[str, frozenset[int]] = {}
    fixed: set[tuple[str, int]] = set()
    for entry in entries:
        name, _, port = entry.partition(":")
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            continue
        ports = frozenset({int(port)}) if port else WEB
        if _is_numeric(name):
            fixed |= {(name, one) for one in ports}
        else:
            kind = below if name.startswith("*.") else exact
            plain = _ascii(name.removeprefix("*."))
            if plain and "*" not in plain:
                kind[plain] = kind.get(plain, frozenset()) | ports
    return Hosts(exact, below, tuple(sorted(fixed)))


def _ascii(name: str) -> str:
    plain = name.rstrip(".").lower()
    if plain.isascii():
        return plain
    try:
        return plain.encode("idna").decode()
    except UnicodeError:
        return ""


def _is_numeric(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True
