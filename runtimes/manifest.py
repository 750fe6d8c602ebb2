"""Reading a manifest strictly: every key asked for once, with its type; nothing left over."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any


class RuntimeManifestError(Exception):
    """A `runtime.toml` is wrong; names the file, the key (dotted) and what is wrong with it."""

    def __init__(self, path: Path, key: str | None, problem: str) -> None:
        subject = f"{path}: {key}" if key else str(path)
        super().__init__(f"{subject} {problem}")
        self.path = path
        self.key = key


class Table:
    """One TOML table. Every getter takes its key out; `close` refuses what nobody took."""

    def __init__(self, path: Path, data: Mapping[str, Any], prefix: str = "") -> None:
        self._path = path
        self._left = dict(data)
        self._prefix = prefix

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def wrong(self, key: str, problem: str) -> RuntimeManifestError:
        return RuntimeManifestError(self._path, f"{self._prefix}{key}", problem)

    def close(self) -> None:
        for key in self._left:
            raise self.wrong(key, "is not a key that a manifest has")

    def take(self, key: str) -> Any:
        if key not in self._left:
            raise self.wrong(key, "is missing")
        return self._left.pop(key)

    def text(self, key: str, *, empty: bool = False) -> str:
        value = self.take(key)
        if not isinstance(value, str):
            raise self.wrong(key, "must be text")
        if not value and not empty:
            raise self.wrong(key, "must not be empty")
        return value

    def path(self, key: str) -> str:
        value = self.text(key)
        if not value.startswith("/"):
            raise self.wrong(key, "must start with /")
        return value

    def number(self, key: str, *, most: int = 1_000_000) -> int:
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, "must be a whole number")
        if not 0 < value <= most:
            raise self.wrong(key, f"must be from 1 to {most}")
        return value

    def seconds(self, key: str) -> float:
        value = self.take(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(key, "must be a number of seconds")
        if not value > 0:
            raise self.wrong(key, "must be more than 0")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self.take(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false")
        return value

    def texts(self, key: str, *, empty: bool = False) -> tuple[str, ...]:
        value = self.take(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "must be a list of text")
        if not value and not empty:
            raise self.wrong(key, "must not be empty")
        return tuple(value)

    def paths(self, key: str) -> tuple[str, ...]:
        value = self.texts(key)
        if not all(item.startswith("/") for item in value):
            raise self.wrong(key, "must hold paths that start with /")
        return value

    def table(self, key: str) -> "Table":
        value = self.take(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "must be a table")
        return Table(self._path, value, f"{self._prefix}{key}.")

    def text_table(self, key: str) -> Mapping[str, str]:
        inner = self.table(key)
        names = tuple(inner._left)
        if not names:
            raise self.wrong(key, "must not be empty")
        return MappingProxyType({name: inner.text(name) for name in names})

    def tables(self, key: str) -> Mapping[str, "Table"]:
        """All that this table holds, each a table."""
        inner = self.table(key)
        names = tuple(inner._left)
        if not names:
            raise self.wrong(key, "must not be empty")
        return MappingProxyType({name: inner.table(name) for name in names})

    def names(self, allowed: Sequence[str]) -> tuple[str, ...]:
        """The keys of this table, which must be among `allowed` and at least one."""
        for key in self._left:
            if key not in allowed:
                raise self.wrong(key, f"is not one of {', '.join(allowed)}")
        if not self._left:
            raise RuntimeManifestError(self._path, self._prefix.rstrip("."), "must not be empty")
        return tuple(self._left)
