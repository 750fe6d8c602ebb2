"""The keys that a file of configuration has, never their values.

A key is its path: `model.default`, `servers[0].url`. One without a value (null, "") does not
count: what an upgrade empties is as lost as what it removes. Files are an agent's own, so what they
hold is bounded, and nothing in them is run.
"""

import io
import json
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import dotenv
import pyjson5
import yaml

from controlplane.naming import mask

MOST_BYTES = 512 * 1024
MOST_KEYS = 20_000  # also of what has no value, and of what a file merges
LONGEST_PATH = 2000  # characters of a key's path
DEEPEST = 60
LONGEST = 200  # characters of a key that is told
TOO_MUCH = (RecursionError, MemoryError)
MERGE = "tag:yaml.org,2002:merge"


class Unreadable(ValueError):
    """It is not what its name says, or too much of it."""


def keys_of(name: str, content: bytes) -> set[str]:
    """Raises Unreadable."""
    if len(content) > MOST_BYTES:
        raise Unreadable("too large")
    try:
        data = _reader(name)(content.decode("utf-8-sig"))
        return {path for path, valued in _bounded(_walk(data, "", DEEPEST)) if valued}
    except Unreadable:
        raise
    except (ValueError, TypeError, yaml.YAMLError, pyjson5.Json5Exception, *TOO_MUCH) as error:
        # Its words may hold what the file holds.
        raise Unreadable(type(error).__name__) from None


def _reader(name: str) -> Callable[[str], Any]:
    end = name.rsplit("/", 1)[-1].rsplit(".", 1)[-1].lower()
    readers: dict[str, Callable[[str], Any]] = {
        "json": _json,
        "json5": _json5,
        "yaml": _yaml,
        "yml": _yaml,
        "toml": tomllib.loads,
        "env": _env,
    }
    if end not in readers:
        raise Unreadable(f"no reader for .{end}")
    return readers[end]


def _json(text: str) -> Any:
    """Runtimes that read JSON5 call their files .json all the same."""
    try:
        return json.loads(text)
    except ValueError:
        return _json5(text)


def _json5(text: str) -> Any:
    return pyjson5.decode(text, maxdepth=DEEPEST)


def _env(text: str) -> Any:
    return dotenv.dotenv_values(stream=io.StringIO(text), interpolate=False)


class _Loader(yaml.SafeLoader):
    """Mappings may take over others (`<<`), which may take over others: bounded in all."""

    merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, value in node.value:
            if key.tag == MERGE:
                sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for source in sources:
                    self._count(source)
        super().flatten_mapping(node)

    def _count(self, source: yaml.Node) -> None:
        if isinstance(source, yaml.MappingNode):
            self.flatten_mapping(source)
            self.merged += len(source.value) + 1
            if self.merged > MOST_KEYS:
                raise Unreadable("too many keys")


def _yaml(text: str) -> Any:
    return yaml.load(text, _Loader)  # noqa: S506  a safe one


def _walk(data: Any, path: str, left: int) -> Iterator[tuple[str, bool]]:
    """Each path, and whether it has a value. YAML's aliases make a small file an endless tree:
    `left` and the bound on keys end it."""
    if left <= 0:
        raise Unreadable("too deep")
    if len(path) > LONGEST_PATH:
        raise Unreadable("too long a key")
    if path:
        yield path, data not in (None, "", {}, [])
    for name, value in _inside(data, path):
        yield from _walk(value, name, left - 1)


def _inside(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield f"{path}.{key}" if path else str(key), value
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield f"{path}[{number}]", value


def _bounded(keys: Iterator[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    for number, key in enumerate(keys):
        if number >= MOST_KEYS:
            raise Unreadable("too many keys")
        yield key


def told(key: str) -> str:
    """A key may be anything, even a credential that somebody put in a key's place."""
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in key)
    return mask(shown[:LONGEST])
