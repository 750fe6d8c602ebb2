"""The guard's rules as text for nft(8): what is let through, and nothing else is. Pure.

`open` agents reach the public internet. `listed` ones reach what the node's resolver has told
them: it puts each answer into `learned`, with a time to live, before it sends it. `fixed` holds
the numeric addresses that a list itself names. `quarantined` ones, which no row speaks of, reach
nothing, not even by connections that they have. All sets are keyed by interface and agent: keyed
by address alone, one organisation could reach what another may.
"""

import ipaddress
from dataclasses import dataclass

from controlplane.outbound.addresses import METADATA, NOT_PUBLIC_4

# Agents reach no more than what Roost itself lets a customer's address lead to.
PRIVATE = tuple(str(one) for one in (*NOT_PUBLIC_4, *METADATA))
_PRIVATE = tuple(ipaddress.IPv4Network(network) for network in PRIVATE)
KEPT = ("open", "listed", "fixed", "quarantined")  # sets that hold what the database says
MOST_LEARNED = 65536  # elements, of all agents
QUESTIONS_A_SECOND, QUESTIONS_AT_ONCE = 100, 200  # of one agent to the node's resolver


@dataclass(frozen=True)
class Listed:
    """An agent that reaches listed hosts alone. Another digest is another list."""

    bridge: str
    address: str
    digest: str
    fixed: tuple[tuple[str, int], ...] = ()  # addresses and ports that need no name


@dataclass(frozen=True)
class Policy:
    installation: str
    prefix: str  # of the bridges
    service_address: str
    service_ports: tuple[int, ...]
    open: tuple[tuple[str, str], ...] = ()  # (bridge, address) of agents that may reach all
    listed: tuple[Listed, ...] = ()
    quarantined: tuple[tuple[str, str], ...] = ()  # of containers that nobody knows


def is_public(address: str) -> bool:
    """The same answer as the rules give for a destination."""
    found = ipaddress.IPv4Address(address)
    return not any(found in network for network in _PRIVATE)


def table_name(installation: str) -> str:
    return "roost_" + "".join(c if c.isalnum() else "_" for c in installation)


def renewed(policy: Policy) -> str:
    """All rules and policies anew in one step, while what agents have learned stays."""
    name = table_name(policy.installation)
    flushed = "\n".join(f"flush set inet {name} {kind}" for kind in KEPT)
    return f"{_sets(name)}\nflush table inet {name}\n{flushed}\n{_table(name, policy)}\n"


def replaced(policy: Policy) -> str:
    """The whole table anew in one step: for one that somebody has bent out of shape."""
    name = table_name(policy.installation)
    removed = f"table inet {name}\ndelete table inet {name}"
    return f"{removed}\n{_sets(name)}\n{_table(name, policy)}\n"


def put(name: str, kind: str, key: str, rest: str = "") -> str:
    """An element just as given, also where one with other times or another comment is there."""
    return f"{removal(name, kind, key)}\nadd element inet {name} {kind} {{ {key} {rest} }}"


def removal(name: str, kind: str, key: str) -> str:
    """Removing what may have expired a moment ago; adding first makes it no error."""
    where = f"element inet {name} {kind} {{ {key} }}"
    return f"add {where}\ndelete {where}"


def agent_key(bridge: str, address: str) -> str:
    return f'"{bridge}" . {address}'


def _sets(name: str) -> str:
    return f"""table inet {name} {{
  set open {{
    type ifname . ipv4_addr
  }}
  set listed {{
    type ifname . ipv4_addr
  }}
  set quarantined {{
    type ifname . ipv4_addr
  }}
  set fixed {{
    type ifname . ipv4_addr . ipv4_addr . inet_service
  }}
  set learned {{
    type ifname . ipv4_addr . ipv4_addr . inet_service
    size {MOST_LEARNED}
    flags timeout
  }}
  set asking {{
    type ifname . ipv4_addr
    size 65535
    flags dynamic, timeout
    timeout 10s
  }}
}}"""


def _elements(name: str, policy: Policy) -> str:
    lines = [("open", agent_key(*who)) for who in sorted(policy.open)]
    lines += [("quarantined", agent_key(*who)) for who in sorted(policy.quarantined)]
    for agent in policy.listed:
        key = agent_key(agent.bridge, agent.address)
        lines.append(("listed", f'{key} comment "{agent.digest}"'))
        lines += [("fixed", f"{key} . {address} . {port}") for address, port in agent.fixed]
    return "\n".join(f"add element inet {name} {kind} {{ {key} }}" for kind, key in lines)


def _table(name: str, policy: Policy) -> str:
    agents = f'iifname "{policy.prefix}*"'
    service = ipaddress.IPv4Address(policy.service_address)
    ports = ", ".join(map(str, policy.service_ports))
    may_ask = f"{agents} ip daddr {service} tcp dport {{ {ports} }} accept" if ports else ""
    too_many = (
        f"update @asking {{ iifname . ip saddr limit rate over {QUESTIONS_A_SECOND}/second "
        f"burst {QUESTIONS_AT_ONCE} packets }} drop"
    )
    return f"""table inet {name} {{
  chain deny {{
    meta l4proto tcp counter reject with tcp reset
    counter reject with icmpx port-unreachable
  }}
  chain input {{
    type filter hook input priority -10; policy accept;
    iifname != {{ "lo" }} iifname != "{policy.prefix}*" ip daddr {service} drop
    iifname != "{policy.prefix}*" accept
    iifname . ip saddr @quarantined goto deny
    {agents} ip daddr {service} udp dport 53 {too_many}
    {agents} ip daddr {service} tcp dport 53 ct state new {too_many}
    ct state established,related accept
    {agents} ip daddr {service} udp dport 53 accept
    {agents} ip daddr {service} tcp dport 53 accept
    {may_ask}
    goto deny
  }}
  chain forward {{
    type filter hook forward priority -10; policy accept;
    iifname != "{policy.prefix}*" accept
    iifname . ip saddr @quarantined goto deny
    ct state established,related accept
    meta nfproto != ipv4 goto deny
    oifname "{policy.prefix}*" goto deny
    ip daddr {{ {", ".join(PRIVATE)} }} goto deny
    iifname . ip saddr @open accept
    iifname . ip saddr != @listed goto deny
    iifname . ip saddr . ip daddr . tcp dport @learned accept
    iifname . ip saddr . ip daddr . tcp dport @fixed accept
    goto deny
  }}
}}
{_elements(name, policy)}"""
