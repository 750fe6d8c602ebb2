"""What bash, dash and Python really write is found."""

import os
import subprocess
import sys

import pytest

from provisioner.scan.needles import Needles, Secret

VALUES = {
    "newline and quote": 'line one\'s\nsecond "line" $HOME `x` \\ end',
    "single quotes": "it''s a 'quoted' t0ken\nwith a line",
    "no line break": "a b'c\"d$e!f*g(h)i{j,k}l;m|n&o~p#q^r?s[t]u",
    "unicode": "pässwörd-€-Zürich's\nzero\u200bwidth",
    "control signs": "bell\a escape\x1b[0m tab\t return\r del\x7f vt\v\f\b end",
    "tilde first": "~tilde/first value 4711",
    "hash first": "#hash first value 4711",
}
BASH = [
    "declare -px v", "printf %q \"$v\"", "echo \"${v@Q}\"", "set", "set -x; : \"$v\"",
    "export -p",
]  # fmt: skip
PYTHON = [
    "repr(v)", "ascii(v)", "repr(v.encode())", "repr({'a': v})", "repr(v + '\"')",
    "repr('\\'' + v)", "repr(v.encode() + b'\"')", "__import__('shlex').quote(v)",
    "__import__('json').dumps(v)",
]  # fmt: skip


def found(value: bytes, written: bytes) -> list[str]:
    return [hit.form for hit in Needles([Secret("secret ODD", value)]).find(written)]


def output(argv: list[str], value: bytes, locale: str) -> bytes:
    environment = {b"v": value, b"LC_ALL": locale.encode(), b"PATH": os.environb[b"PATH"]}
    environment[b"PYTHONUTF8"] = b"1"
    done = subprocess.run(argv, env=environment, capture_output=True, check=True, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("script", BASH)
@pytest.mark.parametrize("name", VALUES)
def test_what_bash_writes_is_found(name, script, locale):
    value = VALUES[name].encode()

    assert found(value, output(["bash", "-c", script], value, locale)) != []


@pytest.mark.parametrize("name", VALUES)
def test_what_dash_writes_is_found(name):
    value = VALUES[name].encode()

    assert found(value, output(["dash", "-c", "export -p"], value, "C")) != []


@pytest.mark.parametrize("expression", PYTHON)
@pytest.mark.parametrize("name", VALUES)
def test_what_python_writes_is_found(name, expression):
    value = VALUES[name].encode()
    code = f"import os; v = os.environ['v']; print({expression})"

    assert found(value, output([sys.executable, "-c", code], value, "C.UTF-8")) != []


@pytest.mark.parametrize("argv", [
    ["bash", "-c", "declare -px v"], ["bash", "-c", "printf %q \"$v\""],
    [sys.executable, "-c", "import os; print(repr(os.environ['v']))"],
    [sys.executable, "-c", "import os; print(repr(os.environb[b'v']))"],
])  # fmt: skip
def test_a_value_that_is_not_utf_8_is_found(argv):
    value = b"t\xffken\xfe 's \x80\n4711-\xc3"

    assert found(value, output(argv, value, "C.UTF-8")) != []


def test_the_form_is_told():
    value = VALUES["control signs"].encode()

    assert found(value, output(["bash", "-c", "declare -px v"], value, "C")) == ["shell-escaped"]
    assert found(value, repr(value.decode()).encode()) == ["Python-escaped"]
