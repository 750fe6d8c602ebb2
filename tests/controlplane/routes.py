"""Every endpoint of the API, found by walking the URL resolver: none can be forgotten."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ID = re.compile(r"<(\w+):\w+>")


@dataclass(frozen=True)
class Operation:
    method: str
    path: str  # with {org}, {agt}, ...
    view: type[Any]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def nouns(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


def operations() -> list[Operation]:
    found = [
        Operation(method, ID.sub(r"{\1}", path), view)
        for path, view in _walk(get_resolver().url_patterns, "/")
        if path.startswith("/api/v1/")
        for method in METHODS
        if hasattr(view, method.lower()) and method.lower() in view.http_method_names
    ]
    return sorted(found, key=str)


def _walk(patterns: Any, base: str) -> Iterator[tuple[str, type[Any]]]:
    for pattern in patterns:
        path = base + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "cls"):
            yield path, pattern.callback.cls
