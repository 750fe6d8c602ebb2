"""HTTP to addresses that customers name (a key's provider, a webhook), which cannot be turned
against us.

    check_url("https://host/v1")                        at save: raises OutboundRefused, HostUnknown
    fetch("POST", url, headers={}, content=b"")         at send: the same, OutboundFailed, an Answer

Only public addresses are reached, and what ROOST_OUTBOUND_ALLOW names. A name is resolved once, all
its addresses are checked, and the connection goes to a checked address: no answer that changes
between check and connection (DNS rebinding) leads inside. No redirect is followed, no proxy or
cookie of ours is used, and time and size of an answer are bounded.
"""

from controlplane.outbound.errors import (
    HostUnknown,
    OutboundError,
    OutboundFailed,
    OutboundRefused,
)
from controlplane.outbound.sending import Answer, fetch
from controlplane.outbound.targets import check_url

__all__ = [
    "Answer",
    "HostUnknown",
    "OutboundError",
    "OutboundFailed",
    "OutboundRefused",
    "check_url",
    "fetch",
]
