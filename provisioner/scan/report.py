"""What a scan came to, as plain data to be signed. No value, and no plain hash of one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils.timezone import now

from controlplane.scans.models import Scan
from provisioner.scan.needles import Secret
from provisioner.scan.place import Place
from provisioner.scan.signing_key import fingerprint

FORMAT = 2  # 1 told what was found in shared places
FORMS = (
    *("plain", "base64", "hex", "URL-encoded", "JSON-escaped", "base64 of JSON"),
    *("shell-escaped", "Python-escaped", "HTML-escaped", "UTF-16"),
)
FOR_OPERATORS = (
    "Searched for your operators. It holds what belongs to others too, so whatever is found here "
    "is told to them alone."
)
NOT_COVERED = (
    "how places went that are searched for operators: this says nothing of them",
    "values that were encrypted, hashed, or changed in another way than the forms above",
    "values of which only a part was kept, or whose parts lie apart (an overflow page of SQLite)",
    "what is packed twice, packed with zstd or a password, or lies inside an image of a disk",
    "blocks that the node's own disk freed outside of workspaces, and extended attributes",
    "other nodes, and backups that were taken elsewhere",
)


def report_of(
    scan: Scan, secrets: Sequence[Secret], places: Sequence[Place], key: Ed25519PrivateKey
) -> dict[str, Any]:
    """For the organisation. Of shared places it says the same whatever was found there."""
    own = [place for place in places if not place.shared]
    return _head(scan) | {
        "looked_for": [_secret(secret, key) for secret in secrets],
        "forms": list(FORMS),
        "places": [_shared(place) if place.shared else place.as_dict() for place in places],
        "findings": _findings(own),
        "findings_total": total(own),
        "not_covered": list(NOT_COVERED),
    }


def operators_report_of(
    scan: Scan, secrets: Sequence[Secret], shared: Sequence[Place]
) -> dict[str, Any]:
    """What the organisation's report leaves out."""
    return _head(scan) | {
        "audience": "operators",
        "looked_for": [secret.name for secret in secrets if not secret.why_not],
        "places": [place.as_dict() for place in shared],
        "findings": _findings(shared),
        "findings_total": total(shared),
    }


def _head(scan: Scan) -> dict[str, Any]:
    agent = scan.agent
    return {
        "format": FORMAT,
        "scan": scan.pk,
        "agent": agent.pk,
        "agent_name": agent.name,
        "organisation": agent.organisation_id,
        "node": agent.node,
        "installation": settings.ROOST_INSTALLATION,
        "release": agent.release.number if agent.release else None,
        "started_at": _time(scan.started_at or scan.created_at),
        "finished_at": _time(now()),
    }


def _shared(place: Place) -> dict[str, Any]:
    return {"place": place.name, "title": place.title, "shared": True, "why": FOR_OPERATORS}


def _findings(places: Sequence[Place]) -> list[dict[str, Any]]:
    return [finding.as_dict() for place in places for finding in place.findings]


def total(places: Sequence[Place]) -> int:
    return sum(len(place.findings) + place.more for place in places)


def _secret(secret: Secret, key: Ed25519PrivateKey) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": secret.name, "version": secret.version or None}
    if secret.why_not:  # no fingerprint either: so few bytes are soon tried out
        return shown | {"looked_for": False, "why": secret.why_not}
    return shown | {"looked_for": True, "fingerprint": fingerprint(key, secret.value)}


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
