"""A full disk stays its owner's trouble, figures are df's, and growing keeps every byte."""

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane import ids
from provisioner.workspaces import growing, loop
from provisioner.workspaces.base import Usage
from provisioner.workspaces.files import GIBIBYTE, RESERVE
from provisioner.workspaces.growing import device_of, held_bytes
from provisioner.workspaces.loop import LoopWorkspaces
from provisioner.workspaces.mounts import mounts_below, run, unmount
from provisioner.workspaces.plain import PlainWorkspaces

MEBIBYTE = 1024**2


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory) -> Iterator[LoopWorkspaces]:
    """A pool of its own of 4 GiB: no engine is needed to see what a disk does."""
    state = tmp_path_factory.mktemp("disks")
    driver = LoopWorkspaces(state)
    with driver.pool_image.open("wb") as file:
        file.truncate(4 * GIBIBYTE)
    run("mkfs.xfs", "-q", "-m", "reflink=1", str(driver.pool_image))
    driver.prepare_node()
    yield driver
    for point in mounts_below(state):
        unmount(point)
    driver.pool_image.unlink()


@pytest.fixture
def made(workspaces) -> Iterator[tuple[str, Path]]:
    """An agent's workspace of 1 GiB, mounted, with some files in it."""
    agent_id = ids.agent_id()
    data = workspaces.ensure(agent_id, 1, made=False).data
    for number in range(40):
        (data / f"file-{number}").write_bytes(os.urandom(MEBIBYTE))
    yield agent_id, data
    workspaces.destroy(agent_id)


def content(data: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(data.iterdir())
        if path.is_file()
    }


def fill(path: Path) -> int:
    """Written until there is no room; returns the bytes that fitted."""
    written = 0
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                written += file.write(b"x" * MEBIBYTE)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return written


def df(data: Path) -> list[int]:
    return [int(n) for n in run("df", "-B1", "--output=used,avail,iused,itotal", data).split()[4:]]


def image(workspaces, agent_id) -> Path:
    return workspaces.pool / f"{agent_id}.img"


# --- the limit


def test_a_full_disk_is_its_owners_alone(workspaces, made):
    agent_id, data = made
    neighbour = ids.agent_id()
    beside = workspaces.ensure(neighbour, 1, made=False).data
    try:
        assert 800 * MEBIBYTE < fill(data / "big") < GIBIBYTE

        (beside / "file").write_bytes(b"y" * 10 * MEBIBYTE)
        assert workspaces.usage(neighbour).share < 0.05
        assert workspaces.usage(agent_id).share > 0.99
        assert workspaces.room().free > RESERVE
        (data / "big").unlink()
        (data / "again").write_bytes(b"z" * MEBIBYTE)
    finally:
        workspaces.destroy(neighbour)


def test_figures_are_those_of_df(workspaces, made):
    agent_id, data = made
    os.sync()

    used, available, inodes, all_inodes = df(data)

    assert workspaces.usage(agent_id) == Usage(used, used + available, inodes, all_inodes)
    assert used > 40 * MEBIBYTE


def test_what_is_not_mounted_has_no_figures(workspaces, made):
    agent_id, _ = made
    workspaces.release(agent_id)

    assert workspaces.usage(agent_id) is None
    assert workspaces.usage(ids.agent_id()) is None


def test_the_pool_counts_only_what_the_host_can_give(workspaces, monkeypatch):
    disk_usage = loop.shutil.disk_usage

    def on_a_full_host(path):
        found = disk_usage(path)
        return found if path == workspaces.pool else found._replace(free=0)

    generous = workspaces.room().free
    monkeypatch.setattr(loop.shutil, "disk_usage", on_a_full_host)

    assert workspaces.room().free < generous / 2


# --- growing


def test_a_stopped_one_grows_and_keeps_every_byte(workspaces, made):
    agent_id, data = made
    before = content(data)
    workspaces.release(agent_id)

    mounted = workspaces.ensure(agent_id, 2, made=True)

    assert mounted.grown
    assert workspaces.usage(agent_id).total > 1.8 * GIBIBYTE
    assert content(data) == before
    assert not workspaces.ensure(agent_id, 2, made=True).grown


def test_a_mounted_one_grows_online_or_between_two_mounts(workspaces, made):
    agent_id, data = made
    before = content(data)

    assert workspaces.ensure(agent_id, 2, made=True).grown

    assert workspaces.usage(agent_id).total > 1.8 * GIBIBYTE
    assert content(data) == before
    assert len([point for point in mounts_below(workspaces.points) if point.name == agent_id]) == 1


def test_a_full_one_has_room_afterwards(workspaces, made):
    agent_id, data = made
    fill(data / "big")

    workspaces.ensure(agent_id, 2, made=True)

    (data / "more").write_bytes(os.urandom(64 * MEBIBYTE))
    assert workspaces.usage(agent_id).share < 0.6


def test_one_that_is_in_use_goes_on_as_it_is_and_grows_at_the_next_start(
    workspaces, made, monkeypatch
):
    """The host may not grow online, and somebody has a file open."""
    agent_id, data = made
    monkeypatch.setattr(loop, "grow_mounted", lambda device: False)
    before = content(data)

    with (data / "file-0").open("rb"):
        assert not workspaces.ensure(agent_id, 2, made=True).grown
        assert workspaces.usage(agent_id).total < GIBIBYTE

    assert workspaces.ensure(agent_id, 2, made=True).grown
    assert workspaces.usage(agent_id).total > 1.8 * GIBIBYTE
    assert content(data) == before


def test_an_image_somebody_else_has_mounted_is_not_touched(workspaces, made, tmp_path, monkeypatch):
    """As a container does, in a mount namespace of its own, where our unmount changes nothing."""
    agent_id, data = made
    monkeypatch.setattr(loop, "grow_mounted", lambda device: False)
    monkeypatch.setattr(growing, "LETTING_GO", 0.1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("mount", "--bind", str(data), str(elsewhere))
    try:
        assert not workspaces.ensure(agent_id, 2, made=True).grown
        (elsewhere / "written").write_text("there")
        assert (data / "written").read_text() == "there"
        assert workspaces.held(agent_id)
    finally:
        unmount(elsewhere)


class Killed(BaseException):
    """As kill -9 would: nothing of ours runs afterwards."""


@pytest.mark.parametrize("at", ["truncate", "umount", "e2fsck", "resize2fs"])
def test_killed_on_the_way_the_next_start_completes_it(workspaces, made, at, monkeypatch):
    agent_id, data = made
    before = content(data)

    def killed_after(*argv, **kwargs):
        told = run(*argv, **kwargs)
        if argv[0] == at:
            raise Killed
        return told

    def killed_after_truncate(path, size):
        growing.lengthen(path, size)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(loop, "grow_mounted", lambda device: False)
        patch.setattr(loop, "run", killed_after)
        patch.setattr(growing, "run", killed_after)
        if at == "truncate":
            patch.setattr(loop, "lengthen", killed_after_truncate)
        with pytest.raises(Killed):
            workspaces.ensure(agent_id, 2, made=True)
    assert image(workspaces, agent_id).stat().st_size == 2 * GIBIBYTE

    workspaces.ensure(agent_id, 2, made=True)

    assert workspaces.usage(agent_id).total > 1.8 * GIBIBYTE
    assert content(data) == before
    workspaces.release(agent_id)
    run("e2fsck", "-n", "-f", str(image(workspaces, agent_id)))


def test_none_is_ever_made_smaller(workspaces, made):
    agent_id, _ = made
    workspaces.ensure(agent_id, 2, made=True)
    workspaces.release(agent_id)

    assert not workspaces.ensure(agent_id, 1, made=True).grown
    assert image(workspaces, agent_id).stat().st_size == 2 * GIBIBYTE
    device = device_of(image(workspaces, agent_id))
    assert device is not None
    assert held_bytes(device) == 2 * GIBIBYTE


def test_a_grown_disk_takes_of_the_pool_what_it_holds(workspaces, made):
    agent_id, _ = made
    before = workspaces.room().free

    workspaces.ensure(agent_id, 50, made=True)

    assert before - workspaces.room().free < 200 * MEBIBYTE


# --- without a file system of its own


def test_a_plain_one_is_walked_now_and_then(node, tmp_path):
    driver = PlainWorkspaces(tmp_path, node.engine)
    driver.prepare_node()
    agent_id = ids.agent_id()
    assert driver.usage(agent_id) is None
    data = driver.ensure(agent_id, 1, made=False).data
    try:
        (data / "file").write_bytes(os.urandom(5 * MEBIBYTE))
        assert driver.usage(agent_id) is None  # not walked yet

        driver._walked = None
        usage = driver.usage(agent_id)

        assert usage.total == GIBIBYTE
        assert 5 * MEBIBYTE <= usage.used < 6 * MEBIBYTE
        assert driver.room() is None
    finally:
        driver.destroy(agent_id)
