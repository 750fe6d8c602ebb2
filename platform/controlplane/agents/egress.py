"""Lists of hosts that an agent may reach: how they are written, and what may not be in one.

    api.github.com            ports 80 and 443
    *.example.com             every name below example.com, not example.com itself
    db.example.com:5432       that port alone

The node's resolver answers an agent with a list for these names and no others, and the guard lets
it connect to what was answered. Pure.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from controlplane.agents.errors import ImpossibleSetting

MOST_HOSTS = 50
DEFAULT_PORTS = {"http": 80, "https": 443}
LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"(\*\.)?({LABEL}\.)+{LABEL}")
MOST_NAME = 253
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
NAMES_ONLY = "because a list is kept by names; write the host's name"
# Names that only mean something inside a network: what they lead to is never open to agents.
INWARD = (
    *("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp"),
    *("home.arpa", "in-addr.arpa", "ip6.arpa", "private", "onion", "svc", "cluster"),
)
BELOW_INWARD = tuple(f".{word}" for word in INWARD)


def check_hosts(hosts: Iterable[str]) -> list[str]:
    """Sorted, each once, in ASCII and lower case. Raises ImpossibleSetting."""
    checked = sorted({_checked(host) for host in hosts})
    if len(checked) > MOST_HOSTS:
        raise ImpossibleSetting(
            "egress_hosts", f"A list has at most {MOST_HOSTS} hosts; this one has {len(checked)}."
        )
    return checked


def host_of(url: str) -> str:
    """The entry that lets an agent reach `url`, a checked address: host and port."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or DEFAULT_PORTS.get(parts.scheme, 443)}"


def _checked(host: str) -> str:
    text = host.strip()
    network, slash, _ = text.partition("/")
    if slash and _is_number(network):
        raise _refused(host, f"a network cannot be listed, {NAMES_ONLY}")
    if text.startswith("[") or _is_ipv6(network):
        raise _refused(host, f"an IPv6 address cannot be listed, {NAMES_ONLY}")
    if slash or "@" in text:
        raise _refused(host, _instead_of_address(text))
    name, colon, port = text.partition(":")
    name = _ascii(name.rstrip("."))
    if _is_number(name):
        raise _refused(host, f"a number cannot be listed, {NAMES_ONLY}")
    if name.removeprefix("*.") in INWARD or name.endswith(BELOW_INWARD):
        raise _refused(host, "names inside a private network are never open to agents")
    if len(name) > MOST_NAME or not HOST.fullmatch(name):
        raise _refused(host, "write api.github.com, *.example.com or db.example.com:5432")
    if colon and not port:
        raise _refused(host, "write the port after the colon, or leave the colon out")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise _refused(host, "the port must be a number from 1 to 65535")
    return f"{name}:{int(port)}" if port else name


def _instead_of_address(text: str) -> str:
    scheme, slashes, rest = text.partition("://")
    if slashes and not set(rest) & set("/@"):
        return f"write the host without {scheme[:20]}://"
    return "write the host alone, without a scheme, user or path"


def _ascii(name: str) -> str:
    star, plain = ("*.", name[2:]) if name.startswith("*.") else ("", name)
    try:
        return star + plain.encode("idna").decode().lower()
    except UnicodeError:
        return name.lower()


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_number(name: str) -> bool:
    """Whether programs take it for an IPv4 address: its last label is a number, of any base. No
    name ends so (WHATWG URL standard, 'ends in a number')."""
    return NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def _refused(host: str, why: str) -> ImpossibleSetting:
    return ImpossibleSetting("egress_hosts", f"{host[:100]!r} cannot be in the list: {why}.")
