"""Where a request may go: what a URL may look like, and which addresses are reached."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from controlplane.outbound.addresses import Address, is_public, plain
from controlplane.outbound.errors import OutboundRefused
from controlplane.outbound.names import addresses_of

PORTS = {"http": 80, "https": 443}
DOTTED = re.compile(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}")
# 2130706433, 0x7f.1, 127.1: the system reads them as addresses, and everybody else differently.
NUMBER = re.compile(r"\d+|0[xX][0-9a-fA-F]*")


def check_url(url: str) -> None:
    """Raises OutboundRefused, HostUnknown, OutboundFailed. What comes of it is for people to
    read: `fetch` checks again, and connects to what it checked."""
    host, port = host_and_port(url)
    reachable(host, port)


def host_and_port(url: str) -> tuple[str, int]:
    """Raises OutboundRefused for what is not plainly http(s)://host[:port]/…"""
    if not url.isprintable() or " " in url:
        raise OutboundRefused("this is not an address")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise OutboundRefused("this is not an address") from None
    if parts.scheme not in PORTS or not host or parts.username or parts.password:
        raise OutboundRefused("this is not an address of the kind https://host/path")
    if not host.isascii() or "%" in host:
        raise OutboundRefused("the host holds characters that no host has")
    if NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) and not DOTTED.fullmatch(host):
        raise OutboundRefused("the host is a number; write it as a name, or as 192.0.2.1")
    return host, port or PORTS[parts.scheme]


def reachable(host: str, port: int) -> list[Address]:
    """Its addresses, each of which may be connected to."""
    if (host.lower(), port) in _allowed_names():
        return addresses_of(host)
    found = [plain(address) for address in addresses_of(host)]
    # One inside among public ones is a trick too.
    if not all(is_public(address) or _is_allowed(address, port) for address in found):
        raise OutboundRefused(f"{host} leads to a private or local address")
    return found


def check_settings() -> None:
    """At start. Raises ImproperlyConfigured."""
    _allowed_names()
    _allowed_networks()
    import_string(settings.ROOST_RESOLVER)


def _is_allowed(address: Address, port: int) -> bool:
    if (str(address), port) in _allowed_names():
        return True
    return any(address in network for network in _allowed_networks())


def _allowed_names() -> set[tuple[str, int]]:
    found = set()
    for entry in settings.ROOST_OUTBOUND_ALLOW:
        if "/" not in entry:
            host, _, port = entry.rpartition(":")
            if not host or not port.isdigit():
                raise _wrong(entry)
            found.add((host.strip("[]").lower(), int(port)))
    return found


def _allowed_networks() -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(entry) for entry in settings.ROOST_OUTBOUND_ALLOW if "/" in entry]
    except ValueError as error:
        raise _wrong(str(error)) from error


def _wrong(entry: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"ROOST_OUTBOUND_ALLOW has host:port or networks such as 10.20.0.0/16, not: {entry}"
    )
