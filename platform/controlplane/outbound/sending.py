"""One request, one connection, one bounded answer."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpcore
import httpx

from controlplane.outbound.connecting import CheckedBackend, Deadline
from controlplane.outbound.errors import OutboundFailed
from controlplane.outbound.targets import host_and_port

SECONDS = 8.0  # for all of it
STEP_SECONDS = 4.0  # for a connection, or for the other side to say anything
MOST_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        """None where it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def fetch(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    seconds: float = SECONDS,
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """Any status is an answer, a redirect too. Raises OutboundRefused, HostUnknown,
    OutboundFailed."""
    host, _ = host_and_port(url)
    backend = CheckedBackend(Deadline(seconds))
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), STEP_SECONDS)
    # Unpacked, a small answer may be a large one.
    usual = {"User-Agent": "Roost", "Accept-Encoding": "identity"}
    wanted: list[tuple[bytes | str, bytes | str]] = [*{**usual, **(headers or {})}.items()]
    try:
        with (
            httpcore.ConnectionPool(_trust(), network_backend=backend) as pool,
            pool.stream(
                method, url, headers=wanted, content=content, extensions={"timeout": timeouts}
            ) as response,
        ):
            return Answer(response.status, _named(response), _bounded(response, most_bytes, host))
    except httpcore.TimeoutException:
        raise OutboundFailed(f"{host} did not answer in time") from None
    except httpcore.ConnectError as error:
        raise OutboundFailed(_no_connection(host, error)) from None
    except (httpcore.NetworkError, httpcore.ProtocolError):
        # `from None`: a library's exception may carry the request, and that a key.
        raise OutboundFailed(f"{host} broke off, or does not speak HTTP") from None


def _bounded(response: httpcore.Response, most: int, host: str) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > most:
            raise OutboundFailed(f"{host} answered with more than {most // 1024} KiB")
    return bytes(body)


def _named(response: httpcore.Response) -> dict[str, str]:
    headers = response.headers
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _no_connection(host: str, error: Exception) -> str:
    why = error.args[0] if error.args else None
    if isinstance(why, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not valid"
    if isinstance(why, ssl.SSLError):
        return f"{host} does not speak TLS; its address may have to begin with http://"
    return f"{host} takes no connection"


@cache
def _trust() -> ssl.SSLContext:
    """The usual authorities, and the operator's own in SSL_CERT_FILE."""
    return httpx.create_ssl_context()
