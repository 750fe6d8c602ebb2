r"""Paths of a workspace as text that can be shown, sent as JSON, and given back.

A backslash is written as two; what cannot be printed (a newline, a control character, one that
turns the direction of writing) and bytes that are no UTF-8 are written as \x and two digits each.
"""

import re

WRITTEN = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def written(path: str) -> str:
    """Of a path as the system gives it, with surrogates for odd bytes."""
    return "".join(map(_character, path))


def _character(one: str) -> str:
    if one == "\\":
        return r"\\"
    if one.isprintable():
        return one
    return "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogateescape"))


def path_of(text: str) -> str:
    """The path that was `written` so; of other text, a path that is not there."""
    found = WRITTEN.sub(_bytes, text.encode("utf-8", "replace"))
    return found.decode("utf-8", "surrogateescape")


def _bytes(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 16)]) if found[1] else b"\\"
