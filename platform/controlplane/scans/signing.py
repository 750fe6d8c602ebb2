"""Signed reports: Ed25519 over canonical JSON. Needs no database, so that anybody can check.

    {"report": {...}, "signature": {"algorithm": "Ed25519", "key_id": "...", "public_key": "...",
                                    "value": "..."}}

Canonical is: keys sorted, no white space, plain ASCII. The key's id is the beginning of the
SHA-256 of the public key.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "Ed25519"


class Forged(Exception):
    """The report is not what was signed, or not signed by that key; the message says which."""


def canonical(report: Mapping[str, Any]) -> bytes:
    """Raises ValueError for what JSON cannot say, such as NaN."""
    return json.dumps(
        report, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def key_id(public_key: bytes) -> str:
    return hashlib.sha256(public_key).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, report: Mapping[str, Any]) -> dict[str, Any]:
    public = key.public_key().public_bytes_raw()
    return {
        "report": dict(report),
        "signature": {
            "algorithm": ALGORITHM,
            "key_id": key_id(public),
            "public_key": _text(public),
            "value": _text(key.sign(canonical(report))),
        },
    }


def verify(signed: Mapping[str, Any], public_key: str) -> Mapping[str, Any]:
    """The report, if it was signed by `public_key` (base64). Raises Forged."""
    try:
        report, signature = signed["report"], signed["signature"]
        if signature["algorithm"] != ALGORITHM:
            raise Forged(f"The signature is not {ALGORITHM}.")
        value = base64.b64decode(signature["value"], validate=True)
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        said = canonical(report)
    except (KeyError, TypeError, ValueError) as error:
        raise Forged("This is no signed report of a scan.") from error
    try:
        key.verify(value, said)
    except InvalidSignature:
        raise Forged("The report was changed, or another key signed it.") from None
    found: Mapping[str, Any] = report
    return found


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
