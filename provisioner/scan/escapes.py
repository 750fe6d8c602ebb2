"""How shells and Python write a text down so that they can read it again.

Each yields bodies alone: the quotes around one belong to no value.
"""

import re
import unicodedata
from collections.abc import Iterator

BARE = re.compile(rb"""([ \t!"$&'()*,;<>?\[\\\]^`{|}])""")  # what bash's printf %q escapes
UNPRINTED = {"Cc", "Cn", "Cs", "Zl", "Zp"}  # glibc prints all else
ANSI_C = {
    0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f",
    0x0D: b"\\r", 0x1B: b"\\E", 0x27: b"\\'", 0x5C: b"\\\\",
}  # fmt: skip


def shell(value: bytes) -> Iterator[bytes]:
    yield re.sub(rb'(["\\$`])', rb"\\\1", value)  # within double quotes: declare -p
    yield value.replace(b"'", b"'\\''")  # within single quotes: ${v@Q}, set, set -x
    yield value.replace(b"'", b"'\"'\"'")  # Python's shlex
    yield re.sub(b"'+", lambda found: b"'\"" + found[0] + b"\"'", value)  # dash's export -p
    yield re.sub(rb"^([#~])", rb"\\\1", BARE.sub(rb"\\\1", value))  # printf %q
    yield BARE.sub(rb"\\\1", value)
    yield from _ansi_c(value)


def _ansi_c(value: bytes) -> Iterator[bytes]:
    """$'...', which bash takes where there is a line break: in a locale of bytes, and in UTF-8,
    where C libraries do not agree on which signs can be printed."""
    yield b"".join(map(_sign, value))
    text = value.decode("utf-8", "surrogateescape")
    for printed in (str.isprintable, lambda sign: unicodedata.category(sign) not in UNPRINTED):
        yield b"".join(
            sign.encode()
            if ord(sign) > 0x7F and printed(sign)
            else b"".join(map(_sign, sign.encode("utf-8", "surrogateescape")))
            for sign in text
        )


def _sign(byte: int) -> bytes:
    plain = 0x20 <= byte < 0x7F
    return ANSI_C.get(byte) or (bytes([byte]) if plain else b"\\%03o" % byte)


def python(value: bytes) -> Iterator[bytes]:
    """repr() and ascii() of the text and repr() of the bytes, in either kind of quotes: what lies
    around a value decides which. What is not UTF-8 is text as os.environ has it."""
    text = value.decode("utf-8", "surrogateescape")
    for written in (repr, ascii):
        yield written("'\"" + text)[4:-1].encode()
        if '"' not in text:
            yield written("'" + text)[2:-1].encode()
    yield repr(b"'\"" + value)[5:-1].encode()
    if b'"' not in value:
        yield repr(b"'" + value)[3:-1].encode()
