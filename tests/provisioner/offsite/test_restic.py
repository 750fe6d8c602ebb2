"""restic on a real store: what comes back is what was there, and every failure says which."""

import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.seaweedfs import PORTS
from deploy.local.services import backing_store, free_port
from provisioner.offsite import errors
from provisioner.offsite.bucket import Bucket
from provisioner.offsite.restic import Credentials, Repository
from provisioner.offsite.running import Patience
from tests.provisioner.offsite.conftest import PASSWORD, bucket_of

Make = Callable[..., Repository]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="owners need root")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "notes").write_text("codeword heron")
    (folder / "random").write_bytes(os.urandom(300_000))
    return folder


def awkward(folder: Path) -> None:
    top = os.fsencode(folder)
    for name in (b"new\nline", b"not utf-8 \xff\xfe", b"-rf", b"*", b"\\q\"'", "é鍵".encode()):
        Path(os.fsdecode(top + b"/" + name)).write_bytes(name)
    (folder / "empty").touch()
    deep = folder.joinpath(*["d" * 50] * 30)
    deep.mkdir(parents=True)
    (deep / "leaf").write_text("deep")
    (folder / "read-only").write_text("x")
    (folder / "read-only").chmod(0o400)
    (folder / "setuid").write_text("x")
    os.chown(folder / "setuid", 10001, 10002)
    (folder / "setuid").chmod(0o4750)
    (folder / "sticky").mkdir(mode=0o700)
    (folder / "sticky").chmod(0o1777)
    os.link(folder / "empty", folder / "sticky" / "same")
    (folder / "dangling").symlink_to("/nowhere/../etc/passwd")
    os.chown(folder / "dangling", 10001, 10001, follow_symlinks=False)
    os.setxattr(folder / "read-only", "user.note", b"\x00kept\xff")
    os.mkfifo(folder / "pipe")
    with (folder / "holes").open("wb") as stream:
        stream.write(b"begin")
        stream.truncate(40 * 1024**2)
        stream.seek(0, os.SEEK_END)
        stream.write(b"end")
    os.utime(folder / "holes", ns=(1, 1_234_567_890_123_456_789))


def seen(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """Everything about a tree but the numbers of inodes and what its top is itself."""
    found: dict[bytes, tuple[object, ...]] = {}
    for inner, folders, names in os.walk(os.fsencode(folder)):
        for path in (os.path.join(inner, name) for name in (*folders, *names)):
            at, content = os.lstat(path), b""
            regular = stat.S_ISREG(at.st_mode)
            if regular:
                content = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).digest()
            elif stat.S_ISLNK(at.st_mode):
                content = os.readlink(path)
            attributes = [
                (one, os.getxattr(path, one, follow_symlinks=False))
                for one in sorted(os.listxattr(path, follow_symlinks=False))
            ]
            size, links = (at.st_size, at.st_nlink) if regular else (0, 0)
            found[os.path.relpath(path, os.fsencode(folder))] = (
                *(at.st_mode, at.st_uid, at.st_gid, at.st_mtime_ns),
                *(size, links, content, attributes),
            )
    return found


@as_root
def test_what_comes_back_is_what_was_there(made: Repository, source: Path, tmp_path: Path) -> None:
    awkward(source)
    target = tmp_path / "target"

    stored = made.backup(source, tag="snp_1")
    made.fetch(stored.id, target)

    assert seen(target) == seen(source)
    holes = (target / "holes").stat()
    assert (holes.st_size, holes.st_blocks * 512 < 1024**2) == (40 * 1024**2 + 3, True)
    assert stored.bytes_total > 40 * 1024**2
    assert [(one.id, one.tags) for one in made.snapshots()] == [(stored.id, ("snp_1",))]


def test_a_second_snapshot_sends_what_is_new(made: Repository, source: Path) -> None:
    first = made.backup(source, tag="one")
    (source / "more").write_text("a few bytes")

    second = made.backup(source, tag="two")

    assert first.bytes_added > 300_000
    assert second.bytes_added < 5_000
    made.forget([first.id])
    made.forget([first.id], prune=False)  # absent counts as removed
    assert [one.id for one in made.snapshots()] == [second.id]
    assert made.size() > 300_000
    made.check()


def test_making_it_twice_at_once_makes_it_once(
    repository: Make, bucket: Bucket, where: str
) -> None:
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: repository().ensure(), range(2)))

    assert len([key for key in keys(bucket, where) if "/keys/" in key]) == 1
    repository().ensure()


def test_two_at_once_are_both_kept(made: Repository, source: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda tag: made.backup(source, tag=tag), ["one", "two"]))

    assert {one.tags for one in made.snapshots()} == {("one",), ("two",)}


def test_a_first_start_that_was_cut_short_is_begun_anew(
    repository: Make, bucket: Bucket, where: str, tmp_path: Path
) -> None:
    (tmp_path / "half").write_text("{}")
    bucket.put(tmp_path / "half", f"{where}/keys/{'0' * 64}")

    repository().ensure()

    assert repository().snapshots() == []
    assert f"{where}/keys/{'0' * 64}" not in keys(bucket, where)


def test_data_without_its_configuration_is_never_begun_anew(
    made: Repository, bucket: Bucket, where: str, source: Path
) -> None:
    made.backup(source, tag="one")
    before = keys(bucket, where)
    bucket.client.delete_object(Bucket=bucket.name, Key=f"{where}/config")

    with pytest.raises(errors.Damaged, match="no configuration"):
        made.ensure()

    assert keys(bucket, where) == before - {f"{where}/config"}


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"password": "another organisation's"}, errors.WrongPassword, "another key"),
        ({"credentials": Credentials("unknown-key", "x" * 20)}, errors.StoreRefused, "access key"),
        ({"url": "s3:{endpoint}/no-such-bucket/a/b"}, errors.StoreRefused, "no such bucket"),
        ({"url": "s3:http://127.0.0.1:1/roost/a/b"}, errors.StoreAway, "connection refused"),
    ],
)
def test_each_refusal_says_which(
    changes: dict[str, object], error: type[errors.OffsiteError], why: str, repository: Make,
    made: Repository, bucket: Bucket,
) -> None:  # fmt: skip
    if "url" in changes:
        changes = {"url": str(changes["url"]).replace("{endpoint}", bucket.url)}

    with pytest.raises(error, match=why) as refused:
        repository(**changes).snapshots()

    assert PASSWORD not in str(refused.value)


def test_a_wrong_secret_is_refused(repository: Make, bucket: Bucket) -> None:
    with pytest.raises(errors.StoreRefused, match="secret key is wrong"):
        repository(credentials=Credentials(bucket.key_id, "wrong-" + "x" * 20)).ensure()


def test_what_was_never_kept_is_told_apart(repository: Make) -> None:
    with pytest.raises(errors.RepositoryMissing):
        repository().snapshots()


def test_an_unknown_snapshot_is_told_apart(made: Repository, tmp_path: Path) -> None:
    for unknown in ("f" * 64, "latest", "--delete"):
        with pytest.raises(errors.SnapshotMissing):
            made.fetch(unknown, tmp_path / "target")


@pytest.mark.parametrize("retry", [0.1, 2])
@pytest.mark.parametrize("harm", ["changed", "cut", "gone"])
def test_a_damaged_object_is_noticed(
    harm: str, retry: float, made: Repository, bucket: Bucket, where: str, source: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    stored = made.backup(source, tag="one")
    for key in (key for key in keys(bucket, where) if "/data/" in key):
        body = bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
        spoilt = {"changed": bytes(len(body)), "cut": body[: len(body) // 3]}.get(harm)
        if spoilt is None:
            bucket.client.delete_object(Bucket=bucket.name, Key=key)
        else:
            bucket.client.put_object(Bucket=bucket.name, Key=key, Body=spoilt)

    elsewhere = replace(made, work=tmp_path / "other", patience=Patience(30, retry))
    with pytest.raises(errors.Damaged):
        elsewhere.fetch(stored.id, tmp_path / "target")


def test_a_file_that_cannot_be_read_makes_no_snapshot(
    made: Repository, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(
        tmp_path,
        f"""{shutil.which("restic")} "$@" || exit
[ "$2" = backup ] || exit 0
echo \'{{"message_type":"error","item":"/lost"}}\' >&2
exit 3""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    with pytest.raises(errors.Unreadable, match="/lost"):
        made.backup(source, tag="one")

    assert made.snapshots() == []


def test_after_a_kill_in_the_middle_the_next_run_goes_on(
    made: Repository, source: Path, bucket: Bucket, where: str
) -> None:
    (source / "large").write_bytes(os.urandom(80 * 1024**2))
    failed: list[BaseException] = []

    def begin() -> None:
        try:
            made.backup(source, tag="killed")
        except errors.OffsiteError as error:
            failed.append(error)

    running = threading.Thread(target=begin)
    running.start()
    victim, _ = child("backup")
    until(lambda: any("/data/" in key for key in keys(bucket, where)))
    os.kill(victim, signal.SIGKILL)
    running.join(20)

    assert isinstance(failed[0], errors.OffsiteError)
    (source / "large").unlink()
    stored = made.backup(source, tag="again")
    made.forget([], prune=True)  # wants the repository for itself: the dead one's lock is gone
    assert [one.id for one in made.snapshots()] == [stored.id]


def test_no_secret_is_on_a_command_line_while_it_runs(
    made: Repository, source: Path, bucket: Bucket
) -> None:
    (source / "large").write_bytes(os.urandom(8 * 1024**2))
    running = threading.Thread(target=lambda: made.backup(source, tag="watched"))
    running.start()
    _, command = child("backup")
    everyone = b"".join(_read(path) for path in Path("/proc").glob("[0-9]*/cmdline"))
    running.join(30)

    assert b"--host" in command
    assert [one for one in (PASSWORD, bucket.secret_key) if one.encode() in everyone] == []
    assert repr(made).count(PASSWORD) == repr(made).count(bucket.secret_key) == 0


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    tool(tmp_path, "exec sleep 60")
    code = (
        "import os; from pathlib import Path; from provisioner.offsite import running\n"
        "running.run(['x'], dict(os.environ), Path('/'), running.Patience())"
    )
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment)
    victim, _ = child("60", parent.pid)
    parent.kill()
    parent.wait()

    until(lambda: not Path(f"/proc/{victim}").exists())


def test_without_the_tool_it_names_the_package(
    repository: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.ToolMissing, match="apt-get install restic"):
        repository().ensure()


def test_a_store_that_hangs_is_given_up(repository: Make) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        url = f"s3:http://127.0.0.1:{server.getsockname()[1]}/roost/a/b"
        with pytest.raises(errors.StoreAway, match="nothing moved"):
            repository(url=url, patience=Patience(still=2)).snapshots()


def test_a_store_that_stops_in_the_middle_is_away_and_goes_on_later(
    source: Path, tmp_path: Path
) -> None:
    (source / "large").write_bytes(os.urandom(40 * 1024**2))
    port = free_port(PORTS)

    def own(urls: dict[str, str]) -> Repository:
        keys = Credentials(urls["S3_ACCESS_KEY_ID"], urls["S3_SECRET_ACCESS_KEY"])
        url = f"s3:{urls['S3_ENDPOINT_URL']}/{urls['S3_BUCKET']}/org/agt"
        return Repository(url, "agt", PASSWORD, keys, tmp_path / "restic", Patience(20, 0.1))

    with ThreadPoolExecutor(1) as other:
        with backing_store(tmp_path / "store", port=port) as urls:
            made, bucket = own(urls), bucket_of(urls)
            made.ensure()
            running = other.submit(made.backup, source, tag="one")
            until(lambda: bucket.size_of("org/agt/data") > 0)
            (server,) = processes.marked(tmp_path / "store")
            processes.send(server, signal.SIGKILL)
        with pytest.raises(errors.StoreAway):
            running.result(120)

    with backing_store(tmp_path / "store", port=port) as urls:
        stored = own(urls).backup(source, tag="two")
        own(urls).fetch(stored.id, tmp_path / "target")
    assert (tmp_path / "target" / "large").read_bytes() == (source / "large").read_bytes()


def keys(bucket: Bucket, where: str) -> set[str]:
    return {str(one["Key"]) for one in bucket._below(where)}


def child(word: str, parent: int | None = None) -> tuple[int, bytes]:
    """The process below us that has the word on its command line, once it is there."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for path in Path("/proc").glob("[0-9]*"):
            command = _read(path / "cmdline")
            status = _read(path / "stat").rpartition(b")")[2].split()
            mine = status and int(status[1]) == (parent or os.getpid())
            if mine and word.encode() in command.split(b"\0") and b"setpriv" not in command:
                return int(path.name), command
        time.sleep(0.02)
    raise AssertionError(f"nothing with {word} was started")


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def tool(folder: Path, script: str) -> None:
    """A restic of our own in `bin` of the folder."""
    (folder / "bin").mkdir()
    (folder / "bin" / "restic").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "restic").chmod(0o755)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
