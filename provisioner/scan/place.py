"""One place that is looked at: what was read there, what could not be, and what was found.

Every place ends with figures or with a sentence that says why it was not looked at: nothing is
ever passed over in silence. Names come from agents; a value in one is masked like any other.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from provisioner.scan.needles import Hit, Needles

MOST_HITS = 20  # of one secret in one file, and
MOST_FINDINGS = 200  # in one place; the rest is counted
LONGEST_NAME = 400


@dataclass(frozen=True)
class Finding:
    place: str
    path: str
    offset: int
    secret: str
    form: str
    inside: str = ""  # what was unpacked to find it: gzip, a git object

    def as_dict(self) -> dict[str, Any]:
        shown = {"place": self.place, "path": self.path, "offset": self.offset}
        shown |= {"secret": self.secret, "form": self.form}
        return shown | ({"inside": self.inside} if self.inside else {})


@dataclass
class Place:
    name: str  # for programs
    title: str  # for people
    needles: Needles = field(repr=False)
    read: Callable[[int], None] = field(repr=False)  # told how many bytes were read just now
    noun: str = "files"
    shared: bool = False  # it holds what belongs to others too: for operators alone
    things: int = 0
    amount: int = 0  # bytes
    why_not: str = ""
    findings: list[Finding] = field(default_factory=list)
    more: int = 0  # findings that were counted only
    limits: Counter[str] = field(default_factory=Counter)
    _hits: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def looked_at(self) -> bool:
        return not self.why_not

    def count(self, amount: int) -> None:
        self.amount += amount
        self.read(amount)

    def skip(self, why: str) -> None:
        """One thing here was not looked at, or only in part; `why` is what many have in common."""
        self.limits[why] += 1

    def text(self, path: str, data: bytes, inside: str = "") -> None:
        """Look at something small that is held in memory."""
        self.count(len(data))
        self.add(path, self.needles.find(data), inside)

    def add(self, path: str, hits: list[Hit], inside: str = "") -> None:
        for hit in hits:
            self._hits[(path, hit.secret)] += 1
            seldom = self._hits[(path, hit.secret)] <= MOST_HITS
            if seldom and len(self.findings) < MOST_FINDINGS:
                shown = self.shown(path)
                self.findings.append(
                    Finding(self.name, shown, hit.start, hit.secret, hit.form, inside)
                )
            else:
                self.more += 1

    def shown(self, path: str) -> str:
        """A name fit for a page and for JSON, and without a value in it."""
        raw = path.encode("utf-8", "surrogateescape")
        text = self.needles.mask(raw).decode("utf-8", "backslashreplace")
        clean = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
        return clean if len(clean) <= LONGEST_NAME else f"{clean[: LONGEST_NAME - 1]}…"

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"place": self.name, "title": self.title}
        if self.why_not:
            return shown | {"looked_at": False, "why": self.why_not}
        limits = [f"{why}: {number}" for why, number in sorted(self.limits.items())]
        shown |= {"looked_at": True, self.noun: self.things, "bytes": self.amount}
        return shown | {"findings": len(self.findings) + self.more, "limits": limits}
