"""What people told the model to keep, and answering from it: it quotes, it never makes up."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from deploy.model.speech import sentences, unprefixed, without_tool_requests

REMEMBER = re.compile(
    r"(?:^|[:,;.!–-]\s*|\b(?:please|also|and|then|now|just)\s+)remember\b"
    r"(?:\s+(?:this|that)\b)?\s*[:,]?\s+(\S.*)",
    re.IGNORECASE,
)
STATEMENT = re.compile(
    r"\b(?:the|my|our)\s((?:[\w'-]{1,60}\s){0,4}?[\w'-]{1,60})\s(?:is|are)\s\S", re.IGNORECASE
)
OPEN_LIST = re.compile(r"(\bremember\b(?:[ \t]+(?:this|that))?[ \t]*:)[ \t]*\n\s*", re.IGNORECASE)
DIRECTIVE = re.compile(r"\A(?:SLOW\s+[\d.]+|FAIL\s+\d+)\s*")
QUESTION = re.compile(
    r"(?:what|what's|which|who|whose|when|where|how|why|do|does|did|can|could|would|will|is|are|am"
    r"|was|were|tell\s+me|repeat|recall|remind\s+me)\b",
    re.IGNORECASE,
)
ABOUT_THEIRS = re.compile(
    r"\b(?:what|what's|which|who|whose|when|where|tell\s+me|repeat|recall|remind\s+me)\b.*"
    r"\b(?:the|my|our)\b",
    re.IGNORECASE,
)
ABOUT_TOLD = re.compile(r"\b(?:remember|remembered|recall|told|tell\s+you|asked?\s+you)\b", re.I)
WORD = re.compile(r"[^\W_]+(?:[-'’.:][^\W_]+)*")
STOP_WORDS = frozenset(
    WORD.findall("""
    a about again ago all am an and any anything are as ask asked at be before by can could did
    do does earlier else ever exactly for from gave give given had has have how i in is it just
    know last me mentioned my now of on or our please previously recall remember remembered
    remind repeat said say so still tell that the there these thing things this those to told us
    was we were what what's when where which who whose why will with would you your
    """)
)
LONGEST_FACT, LONGEST_QUESTION = 400, 500
MOST_FACTS, MOST_KEYWORDS, MOST_LISTED, LAST_HEARD = 500, 12, 20, 8


@dataclass(frozen=True)
class Told:
    """Something a user stated. `subject`: its words up to "is"; `asked`: told to remember it."""

    text: str
    asked: bool
    subject: frozenset[str]


@dataclass(frozen=True)
class Asked:
    text: str


def respond(earlier: Sequence[str], text: str) -> str | None:
    """The answer to the last thing in `text` that states or asks something, None if none does."""
    before = [item for turn in earlier for item in _heard(turn) if isinstance(item, Told)]
    heard = list(_heard(text))
    for place in range(len(heard) - 1, max(-1, len(heard) - 1 - LAST_HEARD), -1):
        item = heard[place]
        if isinstance(item, Told):
            return _sentence(f"Noted, I will remember: {item.text}")
        facts = before + [told for told in heard[:place] if isinstance(told, Told)]
        if answer := _recall(item.text, facts[-MOST_FACTS:]):
            return answer
    return None


def _heard(text: str) -> Iterator[Told | Asked]:
    spoken = OPEN_LIST.sub(r"\1 ", without_tool_requests(text))
    for raw in spoken.splitlines():
        line = unprefixed(raw)
        if line[:10].lower() != "assistant:":  # Clients quote the model back to itself.
            yield from _heard_in_line(sentences(DIRECTIVE.sub("", line)))


def _heard_in_line(parts: list[str]) -> Iterator[Told | Asked]:
    place = 0
    while place < len(parts):
        part = parts[place]
        place += 1
        if _is_question(part):
            yield Asked(part[:LONGEST_QUESTION])
        elif order := REMEMBER.search(part):
            rest = list(takewhile(lambda more: not _is_question(more), parts[place:]))
            place += len(rest)
            yield _told(" ".join([order[1], *rest]), asked=True)
        elif STATEMENT.search(part):
            yield _told(part, asked=False)


def _is_question(sentence: str) -> bool:
    return sentence.endswith("?") or QUESTION.match(sentence) is not None


def _told(text: str, *, asked: bool) -> Told:
    fact = text.strip()[:LONGEST_FACT].removesuffix(".")
    stated = STATEMENT.search(fact)
    return Told(fact, asked, frozenset(_keywords(stated[1])) if stated else frozenset())


def _recall(question: str, facts: list[Told]) -> str | None:
    keywords = _keywords(question)
    if not keywords:
        return _all_of(facts) if ABOUT_TOLD.search(question) else None
    best, best_rank = None, (0.0, False)
    for fact in facts:
        words = _keywords(fact.text, most=LONGEST_FACT)
        share = sum(any(_same(key, word) for word in words) for key in keywords) / len(keywords)
        subject = any(_same(key, word) for key in keywords for word in fact.subject)
        if share >= 0.5 and (share, subject) >= best_rank:  # Of equals the latest wins.
            best, best_rank = fact, (share, subject)
    if best is not None:
        close = "You told me" if best_rank[0] == 1 else "The closest thing you told me"
        return _sentence(f"{close}: {best.text}")
    if ABOUT_TOLD.search(question) or ABOUT_THEIRS.search(question):
        return "I do not know: you have told me nothing of that kind in this conversation."
    return None


def _all_of(facts: list[Told]) -> str:
    asked = [fact for fact in facts if fact.asked] or facts
    latest = {fact.subject or fact.text: fact for fact in asked}.values()
    texts = list(dict.fromkeys(fact.text for fact in latest))[-MOST_LISTED:]
    if not texts:
        return "You have told me nothing to remember in this conversation."
    if len(texts) == 1:
        return _sentence(f"You told me to remember: {texts[0]}")
    return "\n- ".join(["You told me to remember:", *texts])


def _keywords(text: str, most: int = MOST_KEYWORDS) -> list[str]:
    joined = re.sub(r"\bcode[ -]word", "codeword", text.lower())
    found = (word for word in WORD.findall(joined) if word not in STOP_WORDS)
    return list(dict.fromkeys(found))[:most]


def _same(one: str, other: str) -> bool:
    """Equal, or equal but for an ending: close and closes."""
    short, long = sorted((one, other), key=len)
    near = len(short) >= 4 and len(long) - len(short) <= 2
    return one == other or (near and long.startswith(short))


def _sentence(text: str) -> str:
    return text if text[-1] in ".!?…" else f"{text}."
