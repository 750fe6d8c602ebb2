"""What of a request's headers an agent gets to see, and what of its answer's a browser."""

from collections.abc import Iterable, Mapping

Raw = list[tuple[bytes, bytes]]

HOP_BY_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
# Who somebody is, and what says where a request came from, is ours to tell. The encoding is
# asked for by the client that reads the answer; the method must be the one that was checked.
OURS = HOP_BY_HOP | {
    *(b"authorization", b"cookie", b"host", b"accept-encoding", b"expect"),
    *(b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip", b"client-ip"),
    *(b"x-original-url", b"x-rewrite-url", b"x-original-host", b"x-http-method"),
    *(b"x-http-method-override", b"x-method-override"),
}
OURS_START = (b"x-forwarded-", b"x-roost-", b"cf-", b"sec-websocket-")
# An agent speaks for its own pages and nothing else: not for a domain, and not for other ports.
NOT_ITS = HOP_BY_HOP | {
    *(b"set-cookie", b"set-cookie2", b"strict-transport-security", b"public-key-pins"),
    *(b"alt-svc", b"nel", b"report-to", b"date"),
}
NOT_ITS_START = (b"access-control-", b"sec-websocket-")
# Beside a policy of the agent's own this one can only forbid more.
FRAMES = (b"content-security-policy", b"frame-ancestors 'self'")
UNLESS_SAID = {b"cross-origin-resource-policy": b"same-origin", b"referrer-policy": b"same-origin"}


def to_agent(headers: Iterable[tuple[bytes, bytes]], host: str, sign_in: Mapping[str, str]) -> Raw:
    """`host` is the one people have it under; `sign_in` takes the place of what they sent."""
    found = list(headers)
    own = [(name.lower().encode(), value.encode()) for name, value in sign_in.items()]
    gone = OURS | {name for name, _ in own} | _named_by_connection(found)
    kept = [
        (name, value)
        for name, value in found
        if name.lower() not in gone and not name.lower().startswith(OURS_START)
    ]
    return [(b"host", host.encode()), *kept, *own]


def to_browser(headers: Iterable[tuple[bytes, bytes]], host: str, origin: str) -> Raw:
    found = [(name.lower(), value) for name, value in headers]
    gone = NOT_ITS | _named_by_connection(found)
    kept = [
        (name, _at_home(value, host, origin) if name == b"location" else value)
        for name, value in found
        if name not in gone and not name.startswith(NOT_ITS_START)
    ]
    said = {name for name, _ in kept}
    return [*kept, FRAMES, *((n, v) for n, v in UNLESS_SAID.items() if n not in said)]


def _named_by_connection(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    values = [value for name, value in headers if name.lower() == b"connection"]
    return {word.strip().lower() for value in values for word in value.split(b",")}


def _at_home(location: bytes, host: str, origin: str) -> bytes:
    """The agent hears plain HTTP, and so may send people to http where they came by https."""
    plain = f"http://{host}".encode()
    if location == plain or location.startswith(plain + b"/"):
        return origin.encode() + location[len(plain) :]
    return location
