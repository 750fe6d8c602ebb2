"""A line of a log as it is shown: its time, a level where it names one, and its text as text."""

import re
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEVEL = re.compile(r"\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|Traceback)\b")
NAMED = {
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warn",
    "WARNING": "warn",
    "ERROR": "error",
    "CRITICAL": "error",
    "FATAL": "error",
    "Traceback": "error",
}
TONES = {"error": "bad", "warn": "warn", "info": "idle", "debug": "idle"}
HEAD = 80  # a level stands at the beginning; further on it is a word like others


def plain(text: str) -> str:
    return COLOURS.sub("", text)


def level_of(text: str) -> str:
    found = LEVEL.search(text[:HEAD])
    return NAMED[found[1]] if found else "info"


def line_html(line: dict[str, Any]) -> SafeString:
    if "mark" in line:
        return format_html('<p class="log-mark">{}</p>', line["mark"])
    text = plain(line["text"])
    level = level_of(text)
    return format_html(
        '<div class="log-line is-{}" data-level="{}"><time datetime="{}" title="{}">{}</time>'
        "<b>{}</b><span>{}</span></div>",
        TONES[level],
        level,
        line["at"],
        line["at"],
        _clock(line["at"]),
        level,
        text,
    )


def lines_html(lines: list[dict[str, Any]]) -> SafeString:
    return format_html_join("\n", "{}", ((line_html(line),) for line in lines))


def _clock(at: str) -> str:
    """13:58:02.119 of 2026-11-29T13:58:02.119431000Z."""
    return at.partition("T")[2][:12] or at
