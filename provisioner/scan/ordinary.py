"""Which values cannot be told from ordinary text.

A setting like `development` is kept beside secrets and lies in hundreds of files by right. So a
value must be worth about as much as eight random letters, in bits: a common word, of any length,
counts as one of a thousand; other letters in one case as a word somebody made up; the rest as
what was drawn at random. An address without a path counts as a word too.
"""

import re
from functools import cache

from django.contrib.auth.password_validation import CommonPasswordValidator

ENOUGH = 36.0  # bits
LONG = 200  # bytes; nothing so long is a word
DISTINCT = 5
COMMON = 10.0  # bits of a common word,
LETTER = 2.5  # of a letter in a word,
RANDOM, MIXED, DIGIT, SIGN = 4.7, 5.7, 3.3, 6.0  # and of what may have been drawn
WORD = 4  # letters
PARTS = re.compile(rb"[A-Za-z]+|[0-9]+|[^A-Za-z0-9\s_./:@,-]")
ADDRESS = re.compile(rb"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]{0,8}/?)?", re.I)
# What settings say and no list of passwords does.
SETTINGS = frozenset(
    b"development staging localhost http https postgres postgresql mysql redis true false enabled "
    b"disabled debug info warning error default database server north south east west central "
    b"example testing local utf".split()
)


def is_ordinary(value: bytes) -> bool:
    if len(set(value)) < DISTINCT:
        return True
    return len(value) < LONG and (bool(ADDRESS.fullmatch(value)) or bits(value) < ENOUGH)


def bits(value: bytes) -> float:
    """About how many questions it takes to guess it."""
    letter = MIXED if value != value.lower() and value != value.upper() else RANDOM
    worth, seen = 0.0, set()
    for part in PARTS.findall(value):
        word = part.lower()
        if len(part) >= WORD and word in seen:
            continue
        seen.add(word)
        worth += _worth(part, letter)
    return worth


def _worth(part: bytes, letter: float) -> float:
    length = min(len(part), 2 * len(set(part)))  # one letter again and again is soon guessed
    if part.isdigit():
        return DIGIT * length
    if not part.isalpha():
        return SIGN * length
    if len(part) < WORD:
        return letter * length
    if part.lower() in _common():
        return COMMON
    one_case = part[1:] in (part[1:].lower(), part[1:].upper())
    return (LETTER if one_case else letter) * length


@cache
def _common() -> frozenset[bytes]:
    """Words of twenty thousand common passwords, which are words and names, and of settings."""
    listed = CommonPasswordValidator().passwords
    return SETTINGS | {word.encode() for word in listed if word.isascii() and word.isalpha()}
