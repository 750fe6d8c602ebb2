"""What people read: the cause, what it means for them, and what to do. No jargon, no blame."""

import json
import re

import pytest

from provisioner import words
from provisioner.engines.base import Container, LogLine
from runtimes.catalog import CATALOG


def ended(exit_code: int, *, out_of_memory: bool = False, state: str = "exited") -> Container:
    return Container(
        id="c", name="roost-agt", agent_id="agt", release=1, restart=0, state=state,
        exit_code=exit_code, out_of_memory=out_of_memory,
    )  # fmt: skip


def shim(code: str, message: str = "The workspace is not mounted.") -> LogLine:
    return LogLine("t", json.dumps({"roost": "boot", "code": code, "message": message}))


@pytest.mark.parametrize(
    ("container", "cause"),
    [
        (ended(0), "its main process ended with exit code 0"),
        (ended(3), "its main process ended with exit code 3"),
        (ended(78), "the boot check refused it"),
        (ended(137), "it was killed (signal 9)"),
        (ended(137, out_of_memory=True), "it ran out of memory at its limit of 512 MB"),
        (ended(0, out_of_memory=True), "it ran out of memory at its limit of 512 MB"),
        (ended(1, out_of_memory=True), "its main process ended with exit code 1"),
        (ended(143), "it was ended by signal 15"),
        (ended(139), "it was ended by signal 11"),
        (ended(0, state="running"), "it was up again before its reason could be read"),
        (ended(0, state="restarting"), "its main process ended with exit code 0"),
    ],
)
def test_why_it_ended(container, cause):
    assert words.cause_of_end(container, 512) == cause


def test_giving_up_says_why_and_what_to_do():
    said = words.crash_looping(ended(3), 512, [LogLine("t", "no such model: gpt-0")])

    assert said.startswith("It ended again and again within 10 minutes; the last time its main")
    assert "It last said: 'no such model: gpt-0'" in said
    assert said.endswith("Look at its log, change what is wrong, then start it.")


def test_out_of_memory_names_the_way_out():
    said = words.crash_looping(ended(137, out_of_memory=True), 512, [LogLine("t", "irrelevant")])

    assert "limit of 512 MB" in said
    assert said.endswith("Choose a larger size in its settings, then start it.")


@pytest.mark.parametrize("code", sorted(words.SHIM))
def test_what_the_boot_check_said_is_passed_on_in_our_words(code):
    log = [LogLine("t", "older"), shim(code, "as it is"), LogLine("t", "newer")]

    said = words.crash_looping(ended(78), 512, log)

    assert f"{words.SHIM[code]} (as it is)" in said


def test_codes_of_the_boot_check_are_the_ones_it_has():
    from pathlib import Path

    source = Path("runtimes/base/boot.py").read_text()

    assert set(words.SHIM) == {code for code in words.SHIM if f'"{code}"' in source}


def test_our_words_know_every_code_of_the_boot_check():
    from pathlib import Path

    source = Path("runtimes/base/boot.py").read_text()

    used = set(re.findall(r'Refused\(\s*"(\w+)"', source)) | {"image_unfit"}
    assert used == set(words.SHIM)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"roost"',
        '{"roost": ',
        '["roost"]',
        '{"roost": "other"}',
        "null",
        '{"roost": {"boot": 1}}',
    ],
)
def test_an_agent_that_prints_something_like_it_is_not_believed(text):
    assert words.shim_refusal([LogLine("t", text)]) == ""


def test_an_unknown_code_and_an_endless_message_stay_readable():
    said = words.shim_refusal([shim("new_code", "x" * 10_000)])

    assert said.startswith("the boot check refused it (xxx")
    assert len(said) < 250


def test_the_last_words_of_an_agent_are_cut_and_quoted():
    said = words.crash_looping(ended(1), 512, [LogLine("t", "\x1b[31m<script>" + "x" * 9999)])

    assert len(said) < 500
    assert "\x1b" not in said


def test_no_container_at_all():
    assert "removed again and again" in words.crash_looping(None, 0, [])


def test_how_long_a_start_may_take():
    hermes = CATALOG["hermes"]

    assert words.starting(hermes) == "Hermes usually answers within 3 s and may take 90 s."
    assert "within 90 s" in words.start_timed_out(hermes)
    assert "workspace is kept" in words.start_timed_out(hermes)


KEY = "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg"


@pytest.mark.parametrize("before", ["", "x " * 70, "x " * 75])
@pytest.mark.parametrize("key", [KEY, "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg", "ab12" * 16])
def test_a_key_in_the_last_words_is_not_passed_on(before, key):
    """Also not the half of one that the cut would leave."""
    line = f"{before}refused: {key} is not a key"

    for said in (
        words.crash_looping(ended(1), 512, [LogLine("t", line)]),
        words.shim_refusal([shim("keys_missing", line)]),
    ):
        assert key[:8] not in said
        assert "***" in said or before
