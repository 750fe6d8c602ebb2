"""Which addresses are public. Pure.

Stricter than `is_global`, which depends on the Python version and knows no tunnels: an address of
a tunnel or translator (6to4, Teredo, NAT64) is public itself and carries a packet anywhere.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

UNICAST = IPv6Network("2000::/3")  # all that is given out in IPv6; NAT64's prefixes lie outside
NOT_PUBLIC_4 = [
    IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    )
]
NOT_PUBLIC_6 = [
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]
# Public, and answers a cloud machine's questions about itself.
METADATA = {ip_address("168.63.129.16")}


def plain(address: Address) -> Address:
    """::ffff:10.0.0.1 is 10.0.0.1: the system connects to the address inside."""
    inside = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return inside or address


def is_public(address: Address) -> bool:
    found = plain(address)
    if not found.is_global or found in METADATA:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in NOT_PUBLIC_4)
    return found in UNICAST and not any(found in network for network in NOT_PUBLIC_6)
