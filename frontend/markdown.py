"""An agent's words as clean HTML. What an agent writes is as foreign as what a stranger types."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

# Raw HTML in the text is shown as text; links are checked again by nh3 below.
_markdown = MarkdownIt("commonmark", {"html": False, "breaks": True})
_markdown.enable(["table", "strikethrough"]).disable("image")  # an image would call home
_cleaner = nh3.Cleaner(
    tags={
        *("a", "blockquote", "br", "code", "del", "em", "h3", "h4", "hr", "li", "ol", "p", "pre"),
        *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    },
    attributes={"a": {"href", "title"}, "ol": {"start"}},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"table": {"class": "table"}, "pre": {"tabindex": "0"}},
)


def render(text: str) -> SafeString:
    tokens = _markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own h1 and h2.
            token.tag = "h3" if token.tag in ("h1", "h2", "h3") else "h4"
    html = _markdown.renderer.render(tokens, _markdown.options, {})
    return mark_safe(_cleaner.clean(html))  # noqa: S308 (nh3 made it safe)
