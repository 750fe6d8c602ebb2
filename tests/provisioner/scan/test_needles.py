"""Every form is found, wherever the pieces of a file end, and nothing else is."""

import base64
import json
import textwrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.scan.needles import Needles, Secret, Stream
from tests.provisioner.scan.conftest import VALUE

TEXT = VALUE.decode()
PEM = (
    b"-----BEGIN PRIVATE KEY-----\n"
    + base64.encodebytes(bytes(range(256)) * 2)
    + b"-----END-----\n"
)
WRITTEN = {
    "plain": VALUE,
    "base64": base64.b64encode(VALUE),
    "base64 behind one byte": base64.b64encode(b"x" + VALUE),
    "base64 behind two bytes": base64.b64encode(b"xy" + VALUE + b"z"),
    "base64 for URLs": base64.urlsafe_b64encode(VALUE),
    "base64 in lines": base64.encodebytes(b"password=" + VALUE),
    "base64 in lines of JSON": json.dumps(base64.encodebytes(VALUE).decode()).encode(),
    "URL-encoded": quote(VALUE).encode(),
    "URL-encoded, slashes too": quote(VALUE, safe="").encode(),
    "URL-encoded, lower": quote(VALUE, safe="").lower().replace(TEXT.lower(), TEXT).encode(),
    "a form": quote_plus(VALUE).encode(),
    "JSON": json.dumps({"key": TEXT}).encode(),
    "JSON in JSON": json.dumps({"body": json.dumps({"key": TEXT})}).encode(),
    "JSON in base64": base64.b64encode(json.dumps([TEXT]).encode()),
    "hex": VALUE.hex().encode(),
    "HEX": VALUE.hex().upper().encode(),
    "hex in lines": textwrap.fill(VALUE.hex(), 60).encode(),
    "shell": TEXT.replace("$", r"\$").replace('"', r"\"").encode(),
    "HTML": TEXT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    .replace('"', "&quot;").encode(),
    "UTF-16": TEXT.encode("utf-16"),
}  # fmt: skip
WRITTEN["URL-encoded, lower"] = (
    quote(VALUE, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3C", "%3c")
    .replace("%3E", "%3e").replace("%3D", "%3d").encode()
)  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_every_form_is_found(needles, name):
    hits = needles.find(b"before " * 100 + WRITTEN[name] + b" after" * 100)

    assert [hit.secret for hit in hits][:1] == ["provider key main"]


@pytest.mark.parametrize("name", WRITTEN)
def test_every_form_is_masked_whole(needles, name):
    masked = needles.mask(b"before " + WRITTEN[name] + b" after")

    assert needles.find(masked) == []
    assert b"***" in masked
    assert masked.startswith(b"before ")
    assert masked.endswith(b" after")


def test_the_form_is_told(needles):
    assert needles.find(VALUE)[0].form == "plain"
    assert needles.find(base64.b64encode(VALUE))[0].form == "base64"
    assert needles.find(VALUE.hex().encode())[0].form == "hex"
    assert needles.find(quote(VALUE, safe="").encode())[0].form == "URL-encoded"


@pytest.mark.parametrize("inside", [PEM, textwrap.indent(PEM.decode(), "    ").encode(),
                                    PEM.replace(b"\n", b"\r\n"), json.dumps(PEM.decode()).encode(),
                                    base64.encodebytes(PEM)])  # fmt: skip
def test_a_value_of_many_lines_is_found_with_other_line_ends(inside):
    assert Needles([Secret("certificate", PEM)]).find(b"key: |\n" + inside) != []


def test_a_value_of_any_bytes_is_found():
    value = bytes(range(128, 256)) * 200
    needles = Needles([Secret("keystore", value)])

    assert [(hit.start, hit.end) for hit in needles.find(b"abc" + value)] == [(3, 3 + len(value))]


def test_the_beginning_of_a_value_is_no_hit(needles):
    assert needles.find(VALUE[:-1] + b"!") == []
    assert needles.find(b"!" + VALUE[1:]) == []
    assert needles.find(base64.b64encode(VALUE[:-4])) == []


def test_one_occurrence_is_one_hit(needles):
    hits = needles.find(VALUE + b" " + VALUE)

    assert [hit.start for hit in hits] == [0, len(VALUE) + 1]


def test_a_short_value_is_not_looked_for():
    short = Secret("secret PIN", b"1234567")

    assert short.why_not.startswith("too short")
    assert Needles([short]).find(b"1234567" * 10) == []


def test_an_ordinary_value_is_not_looked_for():
    ordinary = Secret("secret ENVIRONMENT", b"development")

    assert ordinary.why_not.startswith("an ordinary value")
    assert Needles([ordinary]).find(b"in development") == []


def test_a_providers_key_is_looked_for_however_it_looks():
    key = Secret("provider key main", b"development", surely=True)

    assert Needles([key]).find(b"in development") != []


def test_a_value_is_in_no_repr(needles):
    assert TEXT[:12] not in repr(needles.secrets)
    assert TEXT[:12] not in repr(needles)


PIECES = settings(max_examples=150, deadline=None, database=None, derandomize=True)
ALL = Needles(
    [Secret("provider key main", VALUE), Secret("gateway token", b"0123456789abcdef" * 3)]
)


@PIECES
@given(
    st.lists(st.sampled_from([*WRITTEN.values(), b"x" * 300, b"\0" * 50]), min_size=1, max_size=5),
    st.lists(st.integers(1, 400), min_size=1, max_size=40),
)
def test_it_does_not_matter_where_pieces_end(parts, cuts):
    data = b"~~".join(parts)
    stream, at, found = Stream(ALL), 0, []
    for cut in [*cuts, len(data)]:
        found += stream.feed(data[at : at + cut])
        at += cut
    found += stream.end()

    assert sorted(set(found)) == ALL.find(data)
    assert len(found) == len(set(found))


@PIECES
@given(st.binary(min_size=8, max_size=60), st.binary(max_size=80), st.binary(max_size=80))
def test_any_value_is_found_plain_and_in_base64(value, before, after):
    needles = Needles([Secret("any", value, surely=True)])

    assert any(hit.start <= len(before) for hit in needles.find(before + value + after))
    assert needles.find(base64.b64encode(before + value + after)) != []


@PIECES
@given(st.binary(max_size=2000))
def test_random_bytes_are_no_hit(data):
    assert ALL.find(data) == []
