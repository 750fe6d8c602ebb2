"""The forms in which a program may have written a value down."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from provisioner.scan import escapes

LINE_BREAKS = (b"\\r", b"\\n", b"\r", b"\n", b"\t", b" ")
JAVASCRIPT_SAFE = "!'()*"  # what encodeURIComponent leaves as it is


@dataclass(frozen=True)
class Form:
    """`wraps`: programs break long ones into lines, so white space within is skipped."""

    name: str
    text: bytes = field(repr=False)
    wraps: bool = False


def forms_of(value: bytes) -> list[Form]:
    """Each text once, under its plainest name."""
    found: dict[bytes, Form] = {}
    for form in _forms(value):
        found.setdefault(form.text, form)
    return list(found.values())


def _forms(value: bytes) -> Iterator[Form]:
    # What was one line is looked for as it is; lines get other ends and are indented.
    yield Form("plain", value, wraps=b"\n" in value)
    yield from (Form("base64", text, wraps=True) for text in _base64(value))
    yield Form("hex", value.hex().encode(), wraps=True)
    yield Form("hex", value.hex().upper().encode(), wraps=True)
    yield from (Form("URL-encoded", text) for text in _url(value))
    yield from (Form("shell-escaped", text) for text in escapes.shell(value))
    yield from (Form("Python-escaped", text) for text in escapes.python(value))
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return
    json_forms = list(_json(text))
    yield from (Form("JSON-escaped", form) for form in json_forms)
    for form in json_forms:  # a queue's messages, a token's claims: JSON within base64
        yield from (Form("base64 of JSON", coded, wraps=True) for coded in _base64(form))
    yield Form("HTML-escaped", _html(text, "&#39;"))
    yield Form("HTML-escaped", _html(text, "&#x27;"))
    yield Form("UTF-16", text.encode("utf-16-le"))
    yield Form("UTF-16", text.encode("utf-16-be"))


def _base64(value: bytes) -> Iterator[bytes]:
    """Both alphabets, at every alignment, without the letters that its neighbours decide."""
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + value)
        end = len(coded) - (0, 3, 2)[(before + len(value)) % 3]
        inner = coded[(0, 2, 3)[before] : end]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


def _url(value: bytes) -> Iterator[bytes]:
    for text in (
        quote(value, safe=""),
        quote(value),
        quote(value, safe=JAVASCRIPT_SAFE),
        quote_plus(value),
    ):
        yield text.encode()
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text).encode()


def _json(text: str) -> Iterator[bytes]:
    """Also with its slashes escaped, and as JSON within JSON."""
    for plain_ascii in (True, False):
        once = json.dumps(text, ensure_ascii=plain_ascii)[1:-1]
        twice = json.dumps(once, ensure_ascii=plain_ascii)[1:-1]
        yield from (form.encode() for form in (once, once.replace("/", "\\/"), twice))


def _html(text: str, quote_sign: str) -> bytes:
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, entity)
    return text.replace("'", quote_sign).encode()
