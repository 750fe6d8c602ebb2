"""
Why a request does not go out, or brings nothing back:

* OutboundError
  - OutboundRefused   it would lead to a place that is not public
  - HostUnknown       no such name, for certain
  - OutboundFailed    the name server or the other side is away, slow, or says nonsense

The text of each is for people, and holds nothing that the other side said.
"""


class OutboundError(Exception):
    """No answer."""


class OutboundRefused(OutboundError):
    """Theirs: another address would do."""


class HostUnknown(OutboundError):
    """Theirs, most likely a slip of the pen."""

    def __init__(self, host: str) -> None:
        super().__init__(f"there is no host {host}")


class OutboundFailed(OutboundError):
    """Nobody's: it may go well later."""
