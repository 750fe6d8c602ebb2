"""From what restic wrote and how it ended to what went wrong.

restic 0.14 has one exit code for everything fatal, so its words decide. The order counts: every
trouble with opening a repository also asks whether there is one.
"""

import re

from provisioner.offsite.errors import (
    Damaged,
    Failed,
    NoRoom,
    OffsiteError,
    RepositoryLocked,
    RepositoryMissing,
    SnapshotMissing,
    StoreAway,
    StoreFull,
    StoreRefused,
    Unreadable,
    WrongPassword,
)
from provisioner.offsite.running import Ended

SOURCE_UNREADABLE = 3  # restic's exit code
SHOWN = 200  # characters of a line

REFUSED = {
    "access key ID you provided does not exist": "it does not know the access key",
    "InvalidAccessKeyId": "it does not know the access key",
    "request signature we calculated does not match": "the secret key is wrong",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "specified bucket does not exist": "it has no such bucket",
    "Access Denied": "its key may not do that",
    "AccessDenied": "its key may not do that",
    "RequestTimeTooSkewed": "the clock of this node is wrong",
}
AWAY = (
    "connection refused", "connection reset", "no such host", "i/o timeout", "no route to host",
    "network is unreachable", "TLS handshake", "x509:", "Client.Timeout", "broken pipe",
    "SlowDown", "ServiceUnavailable", "503 Service", "502 Bad", "server misbehaving",
)  # fmt: skip
FULL = (
    "XMinioStorageFull",
    "InsufficientStorage",
    "QuotaExceeded",
    "no writable volumes",
    "507 Insuff",
)
DAMAGED = (
    "ciphertext verification failed", "nonce is invalid", "invalid data returned",
    "hash mismatch", "does not match id", "not found in repository", "unable to load index",
    "specified key does not exist", "not found in index", "unexpected end of JSON",
    "invalid character", "file does not exist", "load index", "unexpected file size",
)  # fmt: skip
CUT_SHORT = ("unexpected EOF", ": EOF", "wrong size")  # damage, or a line that breaks


def trouble(ended: Ended, snapshot_id: str = "") -> OffsiteError:
    """Of a run that did not end well."""
    said = ended.said
    if "wrong password or no key found" in said:
        return WrongPassword()
    for words, why in REFUSED.items():
        if words in said:
            return StoreRefused(why)
    if "already locked" in said:
        return RepositoryLocked()
    if "unable to open config file" in said and "specified key does not exist" in said:
        return RepositoryMissing()
    if "no matching ID found" in said or "no snapshot found" in said:
        return SnapshotMissing(snapshot_id)
    if any(words in said for words in FULL):
        return StoreFull()
    if any(words in said for words in AWAY):
        return StoreAway(_line(said, AWAY))
    if "no space left on device" in said:
        return NoRoom()
    if ended.code == SOURCE_UNREADABLE:
        return Unreadable(_line(said, ("error", "ermission")))
    if any(words in said for words in DAMAGED):
        return Damaged(_line(said, (*DAMAGED, *CUT_SHORT)))
    if ended.given_up:
        return StoreAway(ended.given_up)
    if any(words in said for words in CUT_SHORT):
        return Damaged(_line(said, CUT_SHORT))
    return Failed(f"The off-site copy failed (restic ended with {ended.code}): {_last(said)}.")


def may_be_short(ended: Ended) -> bool:
    """Whether it was given up for what a damaged object and a bad line have in common."""
    return bool(ended.given_up) and any(words in ended.said for words in CUT_SHORT)


def _line(said: str, words: tuple[str, ...]) -> str:
    """The first line with one of the words, without the address that it may hold."""
    found = (line for line in said.splitlines() if any(word in line for word in words))
    return _short(next(found, "")) or "it gave no reason"


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else "it gave no reason"


def _short(line: str) -> str:
    return re.sub(r'"?https?://\S+', "…", line).strip().rstrip(".")[:SHOWN]
