"""An encrypted, incremental repository in the bucket: restic by subprocess.

The password and the store's key are in restic's environment alone, never on a command line, and
it sees nothing else of ours.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from provisioner.offsite import cache, sparse
from provisioner.offsite.errors import (
    Damaged,
    Failed,
    OffsiteError,
    RepositoryLocked,
    RepositoryMissing,
    SnapshotMissing,
)
from provisioner.offsite.running import Ended, Patience, run
from provisioner.offsite.told import SOURCE_UNREADABLE, may_be_short, trouble

DEFAULT_REGION = "us-east-1"
ID = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")  # of a tag or host: no comma, no option
PASSED_ON = (
    *("PATH", "HOME", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
)


@dataclass(frozen=True)
class Credentials:
    """Of the bucket."""

    key_id: str
    secret_key: str = field(repr=False)
    region: str = DEFAULT_REGION


@dataclass(frozen=True)
class Stored:
    """A snapshot that is off-site. Sizes in bytes; `bytes_added` is what it sent, before
    compression."""

    id: str
    bytes_added: int
    bytes_total: int
    files: int


@dataclass(frozen=True)
class Listed:
    id: str
    time: datetime
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Repository:
    """One agent's. Every call may raise OffsiteError and its kinds, see `offsite.errors`.

    `host` is the agent's id; `work` a directory of ours for the cache and for locks. `tidy` takes
    away what a first start left that was cut short; `names` lists the repository's own objects
    whose names begin so, which is quicker than a run of restic.
    """

    url: str
    host: str
    password: str = field(repr=False)
    credentials: Credentials = field(repr=False)
    work: Path
    patience: Patience = field(default_factory=Patience)
    tidy: Callable[[], None] | None = None
    names: Callable[[str], list[str]] | None = None

    def ensure(self) -> None:
        """Make it unless it is there."""
        with suppress(RepositoryMissing):
            self._restic("cat", "config")
            return
        # S3 lets two runs make it at once, each with a master key of its own.
        with self._alone():
            try:
                self._restic("cat", "config")
            except RepositoryMissing:
                if self.tidy is not None:
                    self.tidy()
                self._restic("init")

    def backup(self, folder: Path, *, tag: str, parent: str = "") -> Stored:
        """What lies in the folder, as it is: names, owners, modes, times, links, attributes.

        Files that are as in the snapshot `parent` by size, times and inode are not read again; one
        that is gone is none. Mode and owner of the folder itself are not kept. Raises Unreadable
        when a file could not be read; then nothing is kept.
        """
        options = [f"--host={_name(self.host)}", f"--tag={_name(tag)}", "--one-file-system"]
        since = [f"--parent={_id(parent)}"] if parent else []
        with ThreadPoolExecutor(max_workers=1) as aside:
            if self.names is not None:
                # Signing in takes as long as a part of a small copy: it is done by the time that
                # the copy's name is asked for.
                aside.submit(self.names, "snapshots/none")
            ended = self._run("backup", *options, *since, ".", folder=folder)
        if since and ended.code and isinstance(trouble(ended), SnapshotMissing):
            ended = self._run("backup", *options, ".", folder=folder)
        told = _summary(ended.out)
        if ended.code == SOURCE_UNREADABLE and told:
            with suppress(OffsiteError):
                self.forget([self._whole_id(told)], prune=False)
        _check(ended)
        return Stored(
            id=self._whole_id(told),
            bytes_added=int(told["data_added"]),
            bytes_total=int(told["total_bytes_processed"]),
            files=int(told["total_files_processed"]),
        )

    def fetch(self, snapshot_id: str, target: Path) -> None:
        """Write the snapshot into the folder, which should be empty.

        A file with holes takes its whole size until it is written, and gives it back then.
        """
        ended = self._run("restore", f"--target={target}", _id(snapshot_id))
        if may_be_short(ended):
            self._refuse_short()
        _check(ended, snapshot_id)
        sparse.dig_holes(target)

    def forget(self, snapshot_ids: Sequence[str], *, prune: bool = True) -> None:
        """Remove snapshots, and with `prune` what only they held; absent counts as removed."""
        ids = [_id(one) for one in snapshot_ids]
        if ids:
            self._restic("forget", *ids)
        if prune:
            self.prune()

    def prune(self) -> None:
        """Remove what no snapshot holds; no other run may go on meanwhile."""
        self._restic("prune")

    def snapshots(self) -> list[Listed]:
        """The oldest first."""
        found = json.loads(self._restic("snapshots").out or "[]")
        listed = [
            Listed(
                one["id"], datetime.fromisoformat(_moment(one["time"])), tuple(one.get("tags", ()))
            )
            for one in found or []
        ]
        return sorted(listed, key=lambda one: one.time)

    def size(self) -> int:
        """Bytes that its snapshots take in the store."""
        return int(json.loads(self._restic("stats", "--mode=raw-data").out)["total_size"])

    def check(self) -> None:
        """Read everything back and compare its hashes: as long as fetching all of it."""
        self._restic("check", "--read-data")

    def _refuse_short(self) -> None:
        """Raises Damaged where the store's objects are not as long as they were written."""
        found = trouble(self._run("check"))
        if isinstance(found, Damaged):
            raise found

    def unlock(self) -> None:
        """Take away locks of runs that are dead; those of living ones stay."""
        _check(self._once("unlock"))

    def _whole_id(self, told: Mapping[str, Any]) -> str:
        """restic 0.14 tells the first letters of it only."""
        short = str(told.get("snapshot_id", ""))
        if not re.fullmatch(r"[0-9a-f]{8,64}", short):
            raise Failed("restic did not say which snapshot it made.")
        if ID.fullmatch(short):
            return short
        if self.names is not None:
            found = [name.rpartition("/")[2] for name in self.names(f"snapshots/{short}")]
        else:
            found = [one.id for one in self.snapshots() if one.id.startswith(short)]
        if len(found) != 1:
            raise SnapshotMissing(short)
        return found[0]

    def _restic(self, *arguments: str) -> Ended:
        ended = self._run(*arguments)
        _check(ended)
        return ended

    def _run(self, *arguments: str, folder: Path | None = None) -> Ended:
        """Once more where the lock of a dead run was in the way."""
        ended = self._once(*arguments, folder=folder)
        if ended.code and isinstance(trouble(ended), RepositoryLocked):
            self.unlock()
            ended = self._once(*arguments, folder=folder)
        return ended

    def _once(self, *arguments: str, folder: Path | None = None) -> Ended:
        cache.ensure(self.work)
        try:
            argv = ("--json", *arguments)
            return run(argv, self._environment(), folder or self.work, self.patience)
        finally:
            cache.trim(self._cache)

    @property
    def _cache(self) -> Path:
        folder = self.work / "cache"
        cache.ensure(folder)
        return folder

    def _environment(self) -> dict[str, str]:
        # Without a region restic asks the store for it first, and that answer says why it refuses.
        region = self.credentials.region
        elsewhere = {} if region == DEFAULT_REGION else {"AWS_DEFAULT_REGION": region}
        return {
            **elsewhere,
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
            "AWS_ACCESS_KEY_ID": self.credentials.key_id,
            "AWS_SECRET_ACCESS_KEY": self.credentials.secret_key,
            "RESTIC_CACHE_DIR": str(self._cache),
            "RESTIC_PASSWORD": self.password,
            "RESTIC_PROGRESS_FPS": "0.2",
            "RESTIC_REPOSITORY": self.url,
        }

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Of the processes on this node, of which one is the agent's."""
        locks = self.work / "locks"
        cache.ensure(locks)
        named = hashlib.sha256(self.url.encode()).hexdigest()[:32]
        with (locks / named).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield


def _check(ended: Ended, about: str = "") -> None:
    if ended.code or ended.given_up:
        raise trouble(ended, about)


def _summary(out: str) -> dict[str, Any]:
    """The last message of a backup; empty when it wrote none."""
    for line in reversed(out.splitlines()):
        with suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and told.get("message_type") == "summary":
                return told
    return {}


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        raise SnapshotMissing(text)
    return text


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name for a tag or host")
    return text


def _moment(text: str) -> str:
    """Nanoseconds to microseconds: Python reads no more."""
    return re.sub(r"(\.\d{1,6})\d*", r"\1", text)
