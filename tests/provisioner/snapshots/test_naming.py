"""Paths as text, and back."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.snapshots.naming import path_of, written


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"notes/a b.txt", "notes/a b.txt"),
        ("Zölle/表.md".encode(), "Zölle/表.md"),
        (b"odd\xff\n", r"odd\xff\x0a"),
        (rb"a\b", r"a\\b"),
        (rb"\xff", r"\\xff"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe".encode(), r"\xe2\x80\xaegpj.exe"),
    ],
)
def test_what_cannot_be_shown_is_spelled_out(path, text):
    assert written(os.fsdecode(path)) == text
    assert os.fsencode(path_of(text)) == path


@given(st.binary())
def test_every_path_comes_back(path):
    shown = written(path.decode("utf-8", "surrogateescape"))

    assert shown.isprintable()
    assert path_of(shown).encode("utf-8", "surrogateescape") == path
