"""The few words of markup that every template shares: icons, shapes, times and sizes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import template
from django.forms import BoundField
from django.templatetags.static import static
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime, now

from frontend.looks import LEVELS, Look, look_of

register = template.Library()

SVG = '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>'


def _symbol(symbol: str, css: str) -> SafeString:
    return format_html(SVG, css, static("frontend/icons.svg"), symbol)


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    return _symbol(f"i-{name}", f"icon {css}".strip())


@register.simple_tag
def glyph(runtime: str, css: str = "") -> SafeString:
    return _symbol(f"g-{runtime}", f"glyph {css}".strip())


@register.simple_tag
def symbol(name: str, css: str = "") -> SafeString:
    """The mark and the bird."""
    return _symbol(name, css)


@register.simple_tag
def shape(look: Look, css: str = "") -> SafeString:
    turning = "shape-spin" if look.spins else ""
    return _symbol(f"s-{look.shape}", " ".join(f"shape {css} {turning}".split()))


@register.filter
def look(status: str) -> Look:
    return look_of(status)


@register.filter
def level(name: str) -> Look:
    return LEVELS.get(name, LEVELS["info"])


@register.simple_tag
def when(moment: datetime | None) -> SafeString:
    """Relative under an hour, then clock, then date; times.js repeats it in the reader's zone."""
    if moment is None:
        return SafeString("")
    words = relative(moment, now())
    return format_html('<time data-when datetime="{}">{}</time>', moment.isoformat(), words)


@register.simple_tag
def clock(moment: datetime, exact: bool = False) -> SafeString:
    """The same where "… ago" would not fit the sentence; `exact` is to the second."""
    html = '<time data-when="{}" datetime="{}">{}</time>'
    words = absolute(moment, now(), exact)
    return format_html(html, "second" if exact else "clock", moment.isoformat(), words)


def relative(moment: datetime, at: datetime) -> str:
    seconds = max(0, round((at - moment).total_seconds()))
    if seconds < 5:
        return "now"
    if seconds < 60:
        return f"{seconds} s ago"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    return absolute(moment, at)


def absolute(moment: datetime, at: datetime, exact: bool = False) -> str:
    there, here = localtime(moment), localtime(at)
    time = f"{there:%H:%M:%S}" if exact else f"{there:%H:%M}"
    if there.date() == here.date():
        return time
    if there.year == here.year:
        return f"{there.day} {there:%b}, {time}"
    return f"{there.day} {there:%b %Y}{f', {time}' if exact else ''}"


@register.filter
def memory(megabytes: int) -> str:
    if megabytes % 1024 == 0:
        return f"{megabytes // 1024} GB"
    return f"{megabytes:,} MB" if megabytes < 1024 else f"{megabytes / 1024:.1f} GB"


@register.filter
def cores(millis: int) -> str:
    if millis == 500:
        return "half a core"
    return "1 core" if millis == 1000 else f"{millis / 1000:g} cores"


@register.filter
def initials(name: str) -> str:
    """AB for Alice Berger, KN for kundenservice-nord, A for alice@…"""
    words = name.split("@")[0].replace("-", " ").replace(".", " ").split()
    return "".join(word[0] for word in words[:2]).upper() or "?"


@register.simple_tag
def gate_input(field: BoundField) -> SafeString:
    """A field of a form that is not ours, in our clothes and without its placeholder."""
    attributes: dict[str, str | bool] = {"class": "input"}
    field.field.widget.attrs.pop("placeholder", None)
    return field.as_widget(attrs=attributes)


@register.filter
def seconds(number: float) -> str:
    """About 3 s, about 2 min."""
    return f"about {number:.0f} s" if number < 90 else f"about {number / 60:.0f} min"


@register.filter
def first_of(values: Iterable[Any]) -> Any:
    return next(iter(values), None)


@register.filter
def level_tone(name: str) -> str:
    return LEVELS.get(name, LEVELS["info"]).tone


@register.simple_tag
def when_text(moment: str) -> SafeString:
    """The same for a time that came as text from elsewhere."""
    return when(parse_datetime(moment))
