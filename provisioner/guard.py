"""The network guard: one nftables table per installation, default deny for its agents.

Bridges are matched by the name's prefix, addresses by interface (keyed by address alone, one
organisation could reach what another may). TCP is refused by a reset, so nothing hangs.
The engine's own rules stay as they are: a drop in any table is final.
"""

import ipaddress
from dataclasses import dataclass

from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.mounts import run

# Everything that is not the public internet (RFC 6890 and the local network of the host).
PRIVATE = (
    "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, "
    "192.0.0.0/24, 192.0.2.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, "
    "203.0.113.0/24, 224.0.0.0/3"
)


class GuardError(Exception):
    """The rules could not be loaded; agents must not start without them."""


@dataclass(frozen=True)
class Policy:
    installation: str
    prefix: str  # of the bridges
    service_address: str
    service_ports: tuple[int, ...]
    open: tuple[tuple[str, str], ...]  # (bridge, address) of agents that may reach the internet


def table_name(installation: str) -> str:
    return "roost_" + "".join(c if c.isalnum() else "_" for c in installation)


def render(policy: Policy) -> str:
    """The whole table as one atomic replacement."""
    name = table_name(policy.installation)
    agents = f'iifname "{policy.prefix}*"'
    service = ipaddress.ip_address(policy.service_address)
    elements = ", ".join(f'"{bridge}" . {address}' for bridge, address in sorted(policy.open))
    filled = f"elements = {{ {elements} }}" if elements else ""
    ports = ", ".join(map(str, policy.service_ports))
    may_ask = f"{agents} ip daddr {service} tcp dport {{ {ports} }} accept" if ports else ""
    return f"""table inet {name}
delete table inet {name}
table inet {name} {{
  set open {{
    type ifname . ipv4_addr
    {filled}
  }}
  chain deny {{
    meta l4proto tcp counter reject with tcp reset
    counter reject with icmpx port-unreachable
  }}
  chain input {{
    type filter hook input priority -10; policy accept;
    iifname != {{ "lo" }} iifname != "{policy.prefix}*" ip daddr {service} drop
    iifname != "{policy.prefix}*" accept
    ct state established,related accept
    {agents} ip daddr {service} udp dport 53 accept
    {may_ask}
    goto deny
  }}
  chain forward {{
    type filter hook forward priority -10; policy accept;
    iifname != "{policy.prefix}*" accept
    ct state established,related accept
    iifname . ip saddr != @open goto deny
    oifname "{policy.prefix}*" goto deny
    ip daddr {{ {PRIVATE} }} goto deny
    meta nfproto ipv4 accept
    goto deny
  }}
}}
"""


def load(policy: Policy) -> None:
    try:
        run("nft", "-f", "-", text=render(policy))
    except WorkspaceTrouble as error:
        raise GuardError(str(error)) from error


def is_loaded(installation: str) -> bool:
    wanted = f"table inet {table_name(installation)}"
    try:
        return wanted in run("nft", "list", "tables", "inet").splitlines()
    except WorkspaceTrouble as error:
        raise GuardError(str(error)) from error


def set_open(installation: str, bridge: str, address: str, *, is_open: bool) -> None:
    """One agent's policy, in effect at once; connections it has stay."""
    verb = "add" if is_open else "delete"
    element = f'{verb} element inet {table_name(installation)} open {{ "{bridge}" . {address} }}'
    try:
        run("nft", element)
    except WorkspaceTrouble as error:
        if is_open or "No such file" not in str(error):
            raise GuardError(str(error)) from error


def unload(installation: str) -> None:
    if is_loaded(installation):
        run("nft", "delete", "table", "inet", table_name(installation))
