"""One automaton over every form of every secret, fed piece by piece with bounded memory.

The automaton holds short anchors taken from the middle of each form, so that it stays small
however long a value is; where one is found, the rest of the form is compared. Long base64 and
hex have two anchors, so that a line break can hide one of them only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ahocorasick_rs import BytesAhoCorasick, Implementation

from provisioner.scan.forms import LINE_BREAKS, Form, forms_of
from provisioner.scan.ordinary import is_ordinary

SHORTEST = 8  # bytes; shorter values are found in any random text
ANCHOR = 12
APART = 20  # two anchors, closer than any program's lines are long
MASK = b"***"
TOO_SHORT = f"too short to look for: it has fewer than {SHORTEST} bytes"
ORDINARY = (
    "an ordinary value: it lies in many files by right, so finding it says nothing. A secret is "
    "looked for where it is as hard to guess as eight letters drawn at random"
)
IDENTIFIER = "no secret: a name or number that its runtime gave it"


@dataclass(frozen=True)
class Secret:
    """What is looked for. `version` is the vault's; 0 where the vault does not count. An
    `identifier` is kept beside secrets and is none: it lies in the workspace by right. What is
    `surely` a secret is looked for however ordinary it looks."""

    name: str
    value: bytes = field(repr=False)
    version: int = 0
    identifier: bool = False
    surely: bool = False

    @property
    def why_not(self) -> str:
        """Why it is not looked for; empty for what is."""
        if self.identifier:
            return IDENTIFIER
        if len(self.value) < SHORTEST:
            return TOO_SHORT
        return ORDINARY if not self.surely and is_ordinary(self.value) else ""


@dataclass(frozen=True, order=True)
class Hit:
    start: int
    end: int
    secret: str
    form: str


@dataclass(frozen=True)
class _Anchor:
    secret: Secret
    form: Form
    at: int  # of the anchor within the form


class Needles:
    def __init__(self, secrets: Sequence[Secret]) -> None:
        anchors: dict[bytes, list[_Anchor]] = {}
        self.secrets = [secret for secret in secrets if not secret.why_not]
        self.reach = ANCHOR
        for secret in self.secrets:
            for form in forms_of(secret.value):
                self.reach = max(self.reach, _room(form, len(form.text)))
                for at in _places(form):
                    text = form.text[at : at + ANCHOR]
                    anchors.setdefault(text, []).append(_Anchor(secret, form, at))
        self._texts = list(anchors)
        self._anchors = list(anchors.values())
        # The automaton for overlaps is also the one whose speed does not depend on the text.
        self._automaton = BytesAhoCorasick(
            self._texts or [b"\0" * 64], implementation=Implementation.DFA
        )

    def find(self, data: bytes) -> list[Hit]:
        """All hits in one text, in order, each occurrence once."""
        stream = Stream(self)
        return sorted({*stream.feed(data), *stream.end()})

    def mask(self, data: bytes) -> bytes:
        """`data` with *** in the place of every hit."""
        shown, at = b"", 0
        for hit in self.find(data):
            if hit.end > at:  # hits that overlap become one
                shown += (data[at : hit.start] + MASK) if hit.start >= at else b""
                at = hit.end
        return shown + data[at:]

    def anchored(self, data: memoryview) -> Iterator[tuple[int, _Anchor]]:
        for index, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            if index < len(self._anchors):
                for anchor in self._anchors[index]:
                    yield start, anchor


class Stream:
    """Pieces in their order; after a gap (a hole of a file) make another one."""

    def __init__(self, needles: Needles, at: int = 0) -> None:
        self.needles = needles
        self._held = b""
        self._base = at  # where the held bytes begin
        self._done = at  # anchors before this were looked at
        self._told: set[tuple[int, str]] = set()  # hits that another anchor may lead to again

    def feed(self, data: bytes) -> list[Hit]:
        self._held += data
        return self._search(self._base + len(self._held) - self.needles.reach)

    def end(self) -> list[Hit]:
        """What was held back for want of its end."""
        return self._search(self._base + len(self._held))

    def _search(self, limit: int) -> list[Hit]:
        """Anchors that begin before `limit`; what is behind one is there by then."""
        if limit <= self._done:
            return []
        held, skipped = self._held, self._done - self._base
        found = []
        for start, anchor in self.needles.anchored(memoryview(held)[skipped:]):
            at = start + skipped
            if self._base + at < limit and (span := _whole(held, at, anchor)):
                first, last = span
                name, begin = anchor.secret.name, self._base + first
                if (begin, name) not in self._told:
                    self._told.add((begin, name))
                    found.append(Hit(begin, self._base + last, name, anchor.form.name))
        self._done = limit
        keep = max(limit - self.needles.reach, self._base)
        self._held, self._base = held[keep - self._base :], keep
        self._told = {told for told in self._told if told[0] >= keep - self.needles.reach}
        return sorted(found)


def _places(form: Form) -> list[int]:
    """Where in a form its anchors begin."""
    last = len(form.text) - ANCHOR
    if last <= 0:
        return [0]
    apart = APART if form.wraps and last >= APART else 0
    step = max(1, last // 64)
    best = max(range(0, last - apart + 1, step), key=lambda at: _telling(form.text, at, apart))
    return sorted({best, best + apart})


def _telling(text: bytes, at: int, apart: int) -> int:
    """How rare these anchors are: a run of one letter is everywhere, and white space changes."""
    chosen = text[at : at + ANCHOR] + text[at + apart : at + apart + ANCHOR]
    return len(set(chosen)) - len(chosen) * any(sign in chosen for sign in b" \t\r\n")


def _room(form: Form, length: int) -> int:
    """How many bytes of a text so many bytes of a form may take."""
    return 2 * length + 64 if form.wraps else length


def _whole(data: bytes, at: int, anchor: _Anchor) -> tuple[int, int] | None:
    """Where the form lies around the anchor at `at`; None where only the anchor does."""
    text, form = anchor.form.text, anchor.form
    start = at - anchor.at
    if start >= 0 and data[start : start + len(text)] == text:
        return start, start + len(text)
    if not form.wraps:
        return None
    before, after = text[: anchor.at], text[anchor.at :]
    left = data[max(0, at - _room(form, len(before))) : at]
    right = data[at : at + _room(form, len(after))]
    bare = _bare(before), _bare(after)
    if not (_bare(left).endswith(bare[0]) and _bare(right).startswith(bare[1])):
        return None
    return at - _reach_back(left, bare[0]), at + _reach(right, bare[1])


def _bare(data: bytes) -> bytes:
    for sign in LINE_BREAKS:
        data = data.replace(sign, b"")
    return data


def _reach(data: bytes, bare: bytes) -> int:
    """The shortest beginning of `data` that holds `bare`."""
    low, high = 0, len(data)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(_bare(data[:middle])) >= len(bare) else (middle + 1, high)
    return low


def _reach_back(data: bytes, bare: bytes) -> int:
    low, high = 0, len(data)
    while low < high:
        middle = (low + high) // 2
        short = len(_bare(data[len(data) - middle :])) < len(bare)
        low, high = (middle + 1, high) if short else (low, middle)
    return low
