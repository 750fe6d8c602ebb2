"""Starts Hermes' dashboard when somebody wants to see it, and stops it when nobody does any more.

    python3 -I -S doorman.py ARGV…    becomes ARGV and leaves the doorman behind
    POST /dashboard                   (port 9118, Bearer of the gateway's key) says: it is wanted

The dashboard takes 100 MB and most agents' is never looked at. Runs inside the container; standard
library only, and as little of it as can be, for the doorman stays for the agent's whole life. It is
no part of the agent: who ends it loses the dashboard until the next start, and nothing else.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

PORT = 9118
DASHBOARD = [
    *("/opt/hermes/bin/hermes", "dashboard", "--host", "0.0.0.0", "--port", "9119"),  # noqa: S104
    *("--no-open", "--skip-build"),
]
KEYS = "/roost/keys/keys.json"
STAY = "--stay"
IDLE = 30 * 60.0  # seconds since somebody said that it is wanted
TICK = 15.0  # seconds between two looks when nobody comes
MANNERS = 5.0  # seconds a visitor has to say what it wants
GRACE = 10.0  # seconds the dashboard has to end
MOST = 8 * 1024  # bytes of a request


def main(argv: list[str]) -> None:
    if argv == [STAY]:
        stay(lambda: spawn(DASHBOARD))
    leave_behind()
    os.execv(argv[0], argv)  # noqa: S606  no shell is what we want


def leave_behind() -> None:
    """The doorman, as a child of the container's init. Without it the agent still starts."""
    try:
        if child := os.fork():
            os.waitpid(child, 0)
            return
    except OSError as error:
        print(f"doorman: the dashboard cannot be opened: {error}", file=sys.stderr)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            # Anew, so that what runs here does not look like another gateway to Hermes.
            os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, STAY])  # noqa: S606  no shell is what we want
    finally:
        os._exit(0)


def stay(start: Callable[[], int], port: int = PORT, keys: str = KEYS, idle: float = IDLE) -> None:
    """For ever; `start` begins the dashboard in a process group of its own."""
    running, wanted = 0, 0.0
    with socket.create_server(("", port)) as door:
        door.settimeout(min(TICK, idle))
        while True:
            try:
                visitor, _ = door.accept()
            except TimeoutError:
                visitor = None
            if visitor is not None and welcome(visitor, keys):
                wanted = time.monotonic()
                if not is_running(running):
                    running = start()
            elif is_running(running) and time.monotonic() - wanted > idle:
                end(running)


def welcome(visitor: socket.socket, keys: str) -> bool:
    """Whether this visitor may have the dashboard, and has been told so."""
    with visitor:
        try:
            status = judge(hear(visitor), keys)
            visitor.sendall(
                b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status
            )
        except OSError:
            return False
    return status.startswith(b"202")


def hear(visitor: socket.socket) -> bytes:
    """The head of its request, or as much as it said in time."""
    head, until = b"", time.monotonic() + MANNERS
    while b"\r\n\r\n" not in head and len(head) < MOST:
        visitor.settimeout(max(0.01, until - time.monotonic()))
        part = visitor.recv(MOST)
        if not part:
            break
        head += part
    return head


def judge(head: bytes, keys: str) -> bytes:
    import hmac  # not before somebody comes: it takes more memory than all the rest
    import json

    asked, *lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    if asked.split(b" ")[:2] != [b"POST", b"/dashboard"]:
        return b"404 Not Found"
    named = [line.partition(b":") for line in lines]
    given = [value.strip() for name, _, value in named if name.lower() == b"authorization"]
    try:
        with open(keys, "rb") as file:
            expected = b"Bearer " + json.load(file)["gateway"].encode()
    except (OSError, ValueError, KeyError):
        return b"503 Service Unavailable"
    right = len(given) == 1 and hmac.compare_digest(given[0], expected)
    return b"202 Accepted" if right else b"401 Unauthorized"


def spawn(argv: list[str]) -> int:
    """The process; where the agent's memory ends, the kernel takes this one and not the agent."""
    if child := os.fork():
        return child
    try:
        os.setsid()
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
    try:
        os.execv(argv[0], argv)  # noqa: S606  no shell is what we want
    finally:
        os._exit(127)


def is_running(process: int) -> bool:
    if not process:
        return False
    try:
        return os.waitpid(process, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def end(process: int) -> None:
    """It and all that it began: politely first."""
    until = time.monotonic() + GRACE
    signal_group(process, signal.SIGTERM)
    while is_running(process) and time.monotonic() < until:
        time.sleep(0.05)
    signal_group(process, signal.SIGKILL)
    while is_running(process):
        time.sleep(0.05)


def signal_group(leader: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # the last of them has ended
        os.killpg(leader, what)


if __name__ == "__main__":
    main(sys.argv[1:])
