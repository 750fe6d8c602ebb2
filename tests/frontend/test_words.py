"""Markdown, log lines, times, sizes: small functions with a table each."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from frontend import markdown
from frontend.loglines import level_of, line_html
from frontend.templatetags.roost import clock, cores, initials, memory, relative
from frontend.turns import Answer

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("![x](http://tracker.example/pixel.png)", "<img"),
        ("[x](javascript:alert(1))", "href"),
        ("[x](data:text/html,<script>)", "href"),
        ("<a href='https://a.example' style='color:red' onclick=x>x</a>", "<a"),
        ("```\n</code></pre><script>\n```", "<script"),
        ('[x](https://a.example "\\" onmouseover=alert(1)")', "onmouseover=alert(1)>"),
        ("<table style=x><tr><td>", "style=x>"),
    ],
)
def test_markdown_is_clean(text: str, never: str) -> None:
    assert never not in markdown.render(text)


def test_markdown_keeps_what_people_write() -> None:
    html = markdown.render("# Title\n\n| a |\n|---|\n| b |\n\n1. **c** `d`\n\n```\ne < f\n```")

    assert "<h3>Title</h3>" in html
    assert '<table class="table">' in html
    assert "<strong>c</strong> <code>d</code>" in html
    assert "e &lt; f" in html


def test_links_lead_out_without_a_referrer() -> None:
    assert 'rel="noopener noreferrer nofollow"' in markdown.render("[a](https://a.example)")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("INFO gateway: listening", "info"),
        ("2026-11-30 07:21:00 DEBUG sqlite", "debug"),
        ("WARNING telegram: 429", "warn"),
        ("Traceback (most recent call last):", "error"),
        ("customer wrote: " + "x" * 80 + " ERROR", "info"),
        ("no ERRORS here", "info"),
    ],
)
def test_a_line_has_a_level(text: str, level: str) -> None:
    assert level_of(text) == level


def test_a_line_loses_its_colours_and_nothing_else() -> None:
    html = line_html({"at": "2026-11-30T07:20:16.123456789Z", "text": "\x1b[31mred\x1b[0m <b>"})

    assert "<span>red &lt;b&gt;</span>" in html


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=2), "now"),
        (timedelta(seconds=40), "40 s ago"),
        (timedelta(minutes=59), "59 min ago"),
        (timedelta(hours=3), "09:00"),
        (timedelta(days=2), "28 Nov, 12:00"),
        (timedelta(days=400), "26 Oct 2025"),
        (timedelta(seconds=-30), "now"),
    ],
)
def test_times_are_relative_under_an_hour(ago: timedelta, words: str) -> None:
    assert relative(NOON - ago, NOON) == words


def test_a_clock_is_never_relative() -> None:
    moment = timezone.now()

    assert f">{timezone.localtime(moment):%H:%M}</time>" in clock(moment)


@pytest.mark.parametrize(
    ("megabytes", "words"), [(512, "512 MB"), (2048, "2 GB"), (2560, "2.5 GB"), (0, "0 GB")]
)
def test_memory_in_words(megabytes: int, words: str) -> None:
    assert memory(megabytes) == words


@pytest.mark.parametrize(
    ("millis", "words"), [(500, "half a core"), (1000, "1 core"), (2000, "2 cores")]
)
def test_cores_in_words(millis: int, words: str) -> None:
    assert cores(millis) == words


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Alice Berger", "AB"), ("kundenservice-nord", "KN"), ("a@b.example", "A"), ("", "?")],
)
def test_initials(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_a_tool_that_ends_is_the_newest_open_one_of_its_name() -> None:
    answer = Answer()
    for name, state in [("a", "started"), ("b", "started"), ("a", "completed"), ("c", "completed")]:
        answer.use(name, state, "")

    assert [(tool.name, tool.done) for tool in answer.tools] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
