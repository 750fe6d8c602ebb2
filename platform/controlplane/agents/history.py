"""Releases as a history: what each changed of the one before. Names of keys, never their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.agents.models import Release
from controlplane.agents.releases import SPEC

FIELDS = ("image", "runtime_version", "key", *SPEC[1:], "secrets")


@dataclass(frozen=True)
class Change:
    """One field. A key or a secret is told by its name; None where there was none."""

    field: str
    old: Any
    new: Any


def told(release: Release) -> dict[str, Any]:
    """The fields of a release as people read them."""
    plain = {field: getattr(release, field) for field in FIELDS if field not in {"key", "secrets"}}
    return plain | {
        "key": release.key.name if release.key else None,
        "secrets": sorted(secret.name for secret in release.secrets.all()),
    }


def changes(before: Release | None, release: Release) -> list[Change]:
    """Nothing for the first one. Two keys of one name are told apart by their ids."""
    if before is None:
        return []
    old, new = told(before), told(release)
    if before.key_id != release.key_id and old["key"] == new["key"]:
        old["key"], new["key"] = before.key_id, release.key_id
    return [Change(field, old[field], new[field]) for field in FIELDS if old[field] != new[field]]


def before(releases: Sequence[Release]) -> dict[int, Release]:
    """By number, the one before each of these, which are of one agent and follow each other."""
    if not releases:
        return {}
    numbers = [one.number for one in releases]
    rows = Release.objects.filter(agent=releases[0].agent_id, number__lt=max(numbers))
    rows = rows.select_related("key").prefetch_related("secrets").order_by("-number")
    older = list(rows[: len(numbers)])
    return {
        number: one
        for number in numbers
        if (one := next((one for one in older if one.number < number), None)) is not None
    }
