"""A name server whose answers a test writes: `ROOST_RESOLVER` names `answer`."""

from controlplane.outbound import HostUnknown

ANSWERS: dict[str, list[list[str]]] = {}  # of a name what it says, one after the other; then again


def answer(host: str) -> list[str]:
    if host not in ANSWERS:
        raise HostUnknown(host)
    found = ANSWERS[host]
    return found.pop(0) if len(found) > 1 else found[0]
