"""A report as text. What it says of names was made fit for a terminal when it was written."""

from collections.abc import Iterator, Mapping
from typing import Any


def told(report: Mapping[str, Any]) -> str:
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    looked = [one for one in report["looked_for"] if one["looked_for"]]
    yield f"{report['agent_name']} ({report['agent']}), {report['finished_at']}"
    yield f"Looked for {len(looked)} secrets in {len(report['forms'])} forms:"
    for secret in report["looked_for"]:
        version = f", version {secret['version']}" if secret["version"] else ""
        why = "" if secret["looked_for"] else f" ({secret['why']})"
        yield f"  {secret['name']}{version}{why}"
    yield ""
    shared = [place for place in report["places"] if place.get("shared")]
    for place in report["places"]:
        if place not in shared:
            yield from _place(place)
    if shared:
        yield ""
        yield f"{shared[0]['why']}"
        yield from (f"  {place['title']}" for place in shared)
    yield ""
    yield from _findings(report)


def _place(place: Mapping[str, Any]) -> Iterator[str]:
    if not place["looked_at"]:
        yield f"  -  {place['title']}: not looked at. {place['why']}"
        return
    noun = next(name for name in ("files", "rows", "keys", "disks", "processes") if name in place)
    amount = f"{place[noun]:,} {noun}, {size(place['bytes'])}"
    sign = "!!" if place["findings"] else "ok"
    yield f"  {sign:<2} {place['title']}: {amount}"
    yield from (f"       {limit}" for limit in place["limits"])


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    total = report["findings_total"]
    if not total:
        yield "No credential was found."
        return
    yield f"{total} found:"
    for one in report["findings"]:
        inside = f", inside {one['inside']}" if one.get("inside") else ""
        yield f"  {one['path']}: the {one['secret']} ({one['form']}) at {one['offset']}{inside}"
    if total > len(report["findings"]):
        yield f"  and {total - len(report['findings'])} more"


def size(amount: int) -> str:
    for unit, one in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if amount >= one:
            return f"{amount / one:.1f} {unit}"
    return f"{amount} bytes"
