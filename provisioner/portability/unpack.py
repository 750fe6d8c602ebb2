"""Unpacks an archive that a stranger sent: the one program that reads it.

A process of its own, with the archive on stdin, the folder of a fresh disk as its whole world
(chroot) and the agent's own uid: whatever the archive manages, it manages there. The disk's size
bounds what it writes. Its verdict is one line of JSON on stdout. Nothing of the archive is run.

    python -m provisioner.portability.unpack '{"root", "uid", "disk_bytes", "runtime", "beside"}'
"""

import contextlib
import errno
import json
import os
import resource
import stat
import sys
import tarfile
from dataclasses import dataclass, field
from typing import Any

from provisioner.portability.entries import (
    RIGHTS,
    attributes,
    bad,
    check_kind,
    check_link,
    clean,
    moment,
    place_of,
)
from provisioner.portability.streams import Bad, Source, Unpacked, cut_off
from provisioner.snapshots.naming import written

LABEL, TOP = "roost-export.json", "workspace"
LABEL_MOST = 64 * 1024  # bytes
MEMORY = 1024**3  # bytes
CPU = 3600  # seconds
ENTRIES_MOST = 1_000_000
OVERHEAD = 64 * 1024**2  # bytes of headers and padding
SPARSE = 4  # times the disk's size that all files may claim
# What a header says that no file can have: a NUL in a name, a time beyond all times.
ODD = (ValueError, OverflowError, TypeError, LookupError)
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Member(tarfile.TarInfo):
    """Remembers whether the archive's own end was reached; tarfile ends quietly without one."""

    ended = False

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> "Member":
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            cls.ended = True
            raise


@dataclass
class Unpacking:
    """Below the current directory. `beside` says where workspaces of other runtimes go, by their
    runtime's name; that of `runtime` is the workspace."""

    disk_bytes: int
    runtime: str
    beside: dict[str, str]
    about: dict[str, Any] | None = None
    top: str = ""
    base: str = ""
    entries: int = 0
    claimed: int = 0
    folders: list[tuple[str, int, int]] = field(default_factory=list)  # place, rights, moment
    known: set[str] = field(default_factory=set)  # folders that are there and no links

    def run(self, source: Source) -> None:
        """Raises Bad."""
        stream = Unpacked(source, self.disk_bytes + self.disk_bytes // 10 + OVERHEAD)
        Member.ended = False
        try:
            with tarfile.open(  # type: ignore[call-overload]  # a stream needs no more than read
                fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape",
                tarinfo=Member, errorlevel=2,
            ) as tar:  # fmt: skip
                while (member := tar.next()) is not None:
                    self._take(tar, member)
                    tar.members.clear()  # or each entry would be kept in memory
            if not Member.ended:
                raise cut_off()
            for place, rights, when in sorted(self.folders, reverse=True):
                os.chmod(place, rights)
                os.utime(place, ns=(when, when))
        except tarfile.TarError as error:
            raise _damaged(error) from error
        except MemoryError as error:
            raise Bad("archive_refused", "A header of it is larger than memory.") from error
        except ODD as error:
            raise _damaged(error) from error

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self.entries += 1
        if self.entries == 1 and member.name == LABEL and member.isreg():
            self._read_label(tar, member)
            return
        if self.entries > ENTRIES_MOST:
            raise Bad("archive_too_large", f"It has more than {ENTRIES_MOST:,} entries.")
        check_kind(member)
        inner = place_of(member, self.top)
        if not inner:
            return
        place = f"{self.base}{inner}"
        if member.issym():
            check_link(member, inner)
        self.claimed += member.size if member.isreg() else 0
        if self.claimed > SPARSE * self.disk_bytes:
            raise bad(member, "makes its files claim far more than the agent's disk has")
        try:
            self._write(tar, member, place)
        except OSError as error:
            raise _unwritten(member, error) from error

    def _read_label(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """What the archive says of itself. A claim and no more: it decides where things go."""
        if member.size > LABEL_MOST:
            raise bad(member, "is too large")
        file = tar.extractfile(member)
        try:
            found: dict[str, Any] = json.loads(file.read() if file else b"")
            runtime = found["runtime"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise bad(member, "says nothing that is understood") from error
        if not isinstance(runtime, str):
            raise bad(member, "says nothing that is understood")
        self.about, self.top = found, TOP
        if runtime == self.runtime:
            return
        if runtime not in self.beside:
            said = written(str(runtime))[:40]
            raise Bad(
                "other_runtime",
                f"It is a workspace of {said}, which {self.runtime} cannot take over. Begin an "
                f"agent of {said} with it.",
            )
        self.base = f"{self.beside[runtime]}/"
        os.mkdir(self.beside[runtime], 0o700)

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo, place: str) -> None:
        self._make_folders(member, place)
        if member.isdir():
            self._folder(member, place)
            return
        if os.path.lexists(place):
            if stat.S_ISDIR(os.lstat(place).st_mode):
                raise bad(member, "is a folder and something else at once")
            os.unlink(place)  # of two entries of one name the later counts
        when = moment(member)
        if member.issym():
            os.symlink(member.linkname, place)
            os.utime(place, ns=(when, when), follow_symlinks=False)
            return
        if member.islnk():
            self._second_name(member, place)
            return
        tar.extract(member.replace(name=place, deep=False), ".", set_attrs=False, filter="tar")
        for name, value in attributes(member).items():
            os.setxattr(place, name, value)
        os.chmod(place, member.mode & RIGHTS)
        os.utime(place, ns=(when, when))

    def _second_name(self, member: tarfile.TarInfo, place: str) -> None:
        first = clean(member, member.linkname, "link")
        if self.top:
            if not first.startswith(f"{self.top}/"):
                raise bad(member, "is a second name of something outside of the workspace")
            first = first.removeprefix(f"{self.top}/")
        self._make_folders(member, f"{self.base}{first}")
        try:
            os.link(f"{self.base}{first}", place, follow_symlinks=False)
        except FileNotFoundError as error:
            raise bad(member, "is a second name of a file that does not come before it") from error

    def _folder(self, member: tarfile.TarInfo, place: str) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(place, 0o700)
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            raise bad(member, "is a folder and something else at once")
        for name, value in attributes(member).items():
            os.setxattr(place, name, value)
        self.folders.append((place, member.mode & RIGHTS, moment(member)))

    def _make_folders(self, member: tarfile.TarInfo, place: str) -> None:
        """Those above it. None may be a link: nothing is written through one."""
        parts = place.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above in self.known:
                continue
            with contextlib.suppress(FileExistsError):
                os.mkdir(above, 0o700)
            if not stat.S_ISDIR(os.lstat(above).st_mode):
                raise bad(member, "lies below what is a link or a file")
            self.known.add(above)


def _unwritten(member: tarfile.TarInfo, error: OSError) -> Bad:
    if error.errno in NO_ROOM:
        shown = written(member.name)[-120:]
        return Bad(
            "archive_too_large",
            f"The agent's disk is full at {shown}. Begin an agent with a larger one.",
        )
    return bad(member, f"cannot be written: {error.strerror}")


def _damaged(error: Exception) -> Bad:
    if "unexpected end of data" in str(error) or "empty file" in str(error):
        return cut_off()
    return Bad("archive_damaged", f"It is damaged: {error}.")


def confine(root: str, uid: int) -> None:
    """From here on there is nothing but `root`, and no more rights than the agent has."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("utf-8", "ascii", "latin-1", "idna"):  # loaded now: there are no files later
        "".encode(name)
    os.umask(0o077)
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def main(order: dict[str, Any]) -> dict[str, Any]:
    confine(order["root"], order["uid"])
    work = Unpacking(order["disk_bytes"], order["runtime"], order["beside"])
    try:
        work.run(sys.stdin.buffer)
    except Bad as error:
        return {"reason": error.reason, "message": str(error)}
    except OSError as error:
        return {"reason": "archive_damaged", "message": f"It cannot be unpacked: {error}."}
    return {"about": work.about, "entries": work.entries, "base": work.base}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))), flush=True)
