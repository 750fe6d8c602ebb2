"""From a name to addresses, within seconds. ROOST_RESOLVER names the function that is asked."""

import socket
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from django.conf import settings
from django.utils.module_loading import import_string

from controlplane.outbound.addresses import Address
from controlplane.outbound.errors import HostUnknown, OutboundFailed

PATIENCE = 4.0  # seconds; the system's own patience is half a minute
UNKNOWN = {socket.EAI_NONAME, socket.EAI_NODATA} if hasattr(socket, "EAI_NODATA") else {
    socket.EAI_NONAME
}  # fmt: skip
_threads = ThreadPoolExecutor(8, thread_name_prefix="resolver")


def addresses_of(host: str) -> list[Address]:
    """All of them, at least one. Raises HostUnknown, OutboundFailed."""
    try:
        return [ip_address(host)]
    except ValueError:
        pass
    found: list[str] = import_string(settings.ROOST_RESOLVER)(host)
    return [ip_address(text) for text in dict.fromkeys(found)]


def system(host: str) -> list[str]:
    """What the system's resolver says."""
    asked = _threads.submit(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    try:
        return [str(row[4][0]) for row in asked.result(PATIENCE)]
    except TimeoutError:
        asked.cancel()
        raise OutboundFailed(f"the name server did not find {host} in time") from None
    except socket.gaierror as error:
        if error.errno in UNKNOWN:
            raise HostUnknown(host) from error
        raise OutboundFailed(f"the name server cannot be asked for {host}") from error
    except (OSError, UnicodeError) as error:
        raise HostUnknown(host) from error


def nowhere(host: str) -> list[str]:
    """For installations without names: tests, and machines that are cut off."""
    raise OutboundFailed(f"the name server cannot be asked for {host}")
