"""The one place where a socket is opened: to an address that was checked, never to a name.

TLS still asks for the name of the URL, and so does the Host header; only the address is ours.
"""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from controlplane.outbound.errors import OutboundRefused
from controlplane.outbound.targets import reachable

TRIES = 3  # addresses of one name


class Deadline:
    """Of a whole request: its parts may each take what is left."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def within(self, timeout: float | None) -> float:
        """Raises httpcore.ReadTimeout when nothing is left."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left if timeout is None else min(timeout, left)


class CheckedBackend(httpcore.NetworkBackend):
    """Raises OutboundError where httpcore would open a socket."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        trouble: Exception = httpcore.ConnectError()
        for address in reachable(host.strip("[]"), port)[:TRIES]:
            try:
                stream = self._sockets.connect_tcp(
                    str(address), port, self._deadline.within(timeout), None, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                trouble = error
            else:
                return _Hurried(stream, self._deadline)
        raise trouble

    def connect_unix_socket(self, path: str, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        raise OutboundRefused("this is not an address")


class _Hurried(httpcore.NetworkStream):
    """A stream on which a byte now and then does not buy more time."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.within(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.within(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(
            ssl_context, server_hostname, self._deadline.within(timeout)
        )
        return _Hurried(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
