"""Disks of agents: a hard limit, an identity nobody inside can change, and no blank one ever."""

import json
import os
from pathlib import Path

import pytest

from controlplane import ids
from provisioner import names
from provisioner.secrets import Delivery
from provisioner.workspaces import files, loop
from provisioner.workspaces.base import PoolFull, WorkspaceForeign, WorkspaceLost, WorkspaceTrouble
from provisioner.workspaces.loop import LoopWorkspaces
from provisioner.workspaces.mounts import is_mounted, mounts_below, run, unmount
from provisioner.workspaces.plain import PlainWorkspaces
from tests.engine.box import box, network_of, until_up
from tests.engine.conftest import ACME, INSTALLATION, POOL, wait_for

ACME_NET = network_of(INSTALLATION, POOL, ACME)


@pytest.fixture
def agent(node):
    agent_id = ids.agent_id()
    yield agent_id
    node.workspaces.destroy(agent_id)


@pytest.fixture
def workspaces(node) -> LoopWorkspaces:
    return node.workspaces


def everything(workspaces) -> list[str]:
    return sorted(path.name for path in workspaces.pool.iterdir())


# --- the loop driver, from outside


def test_twice_is_once_and_what_was_written_stays(workspaces, agent):
    first = workspaces.ensure(agent, 1, made=False)
    (first.data / "file").write_text("kept")

    assert workspaces.ensure(agent, 1, made=True) == first
    workspaces.release(agent)
    assert not workspaces.held(agent)
    assert workspaces.ensure(agent, 1, made=True) == first

    assert (first.data / "file").read_text() == "kept"
    assert len([p for p in mounts_below(workspaces.points) if p.name == agent]) == 1


def test_a_new_disk_has_its_identity_and_the_agents_data(workspaces, agent):
    made = workspaces.ensure(agent, 1, made=False)

    identity = made.identity / "workspace.json"
    assert json.loads(identity.read_text()) == {"agent": agent, "workspace": agent, "format": 1}
    seen = {path: path.stat() for path in (made.data.parent, made.identity, identity, made.data)}
    assert [(s.st_uid, s.st_gid, s.st_mode & 0o7777) for s in seen.values()] == [
        (0, 0, 0o755), (0, 0, 0o755), (0, 0, 0o444), (10001, 10001, 0o700),
    ]  # fmt: skip
    options = run("findmnt", "-no", "OPTIONS", str(made.data.parent)).split(",")
    assert {"nosuid", "nodev", "noatime"} <= set(options)


def test_an_unmounted_workspace_is_a_pair_of_empty_stubs_that_nobody_writes(workspaces, agent):
    made = workspaces.ensure(agent, 1, made=False)
    workspaces.release(agent)

    for stub in (made.data, made.identity):
        assert stub.stat().st_mode & 0o7777 == 0o555
        assert stub.stat().st_uid == 0
        assert list(stub.iterdir()) == []


def test_release_and_destroy_of_what_is_not_there(workspaces, agent):
    workspaces.release(agent)
    workspaces.destroy(agent)
    workspaces.ensure(agent, 1, made=False)
    for _ in range(2):
        workspaces.release(agent)
    for _ in range(2):
        workspaces.destroy(agent)

    assert agent not in workspaces.known()
    assert not (workspaces.points / agent).exists()


def test_what_was_deleted_leaves_the_hosts_disk_too(workspaces, agent):
    content = os.urandom(1024**2)

    def on_the_host() -> int:
        run("sync", "--file-system", str(workspaces.pool))
        return workspaces.pool_image.stat().st_blocks * 512

    before = on_the_host()
    made = workspaces.ensure(agent, 1, made=False)
    with (made.data / "much").open("wb") as file:
        for _ in range(100):
            file.write(content)
    workspaces.release(agent)
    assert on_the_host() > before + 90 * len(content)

    workspaces.destroy(agent)

    wait_for(lambda: on_the_host() < before + 10 * len(content))


def test_a_lost_disk_is_said_and_no_blank_one_is_made(workspaces, agent):
    with pytest.raises(WorkspaceLost, match="not replaced by a blank one"):
        workspaces.ensure(agent, 1, made=True)

    assert agent not in workspaces.known()
    assert not workspaces.held(agent)


def test_another_agents_disk_is_refused(workspaces, agent):
    other = ids.agent_id()
    for one in (agent, other):
        workspaces.ensure(one, 1, made=False)
        workspaces.release(one)
    (workspaces.pool / f"{agent}.img").rename(workspaces.pool / "swap")
    (workspaces.pool / f"{other}.img").rename(workspaces.pool / f"{agent}.img")
    (workspaces.pool / "swap").rename(workspaces.pool / f"{other}.img")

    try:
        for one, found in ((agent, other), (other, agent)):
            with pytest.raises(WorkspaceForeign, match=found):
                workspaces.ensure(one, 1, made=True)
            assert not workspaces.held(one)
    finally:
        workspaces.destroy(other)


@pytest.mark.parametrize("text", ["", "not json", "[]", "null", '{"workspace": 7}'])
def test_a_disk_without_a_readable_identity_is_refused(workspaces, agent, text):
    made = workspaces.ensure(agent, 1, made=False)
    (made.identity / "workspace.json").write_text(text)
    workspaces.release(agent)

    with pytest.raises(WorkspaceTrouble):
        workspaces.ensure(agent, 1, made=True)
    assert not workspaces.held(agent)


class Killed(BaseException):
    """As kill -9 would: nothing of ours runs afterwards."""


@pytest.mark.parametrize("at", range(5))
def test_killed_in_the_middle_of_making_one_the_next_makes_it_whole(
    workspaces, agent, at, monkeypatch
):
    """Before mkfs, half-way into it, after it, before the rename, after the rename."""
    before = everything(workspaces)

    def mkfs(*argv):
        if at == 0:
            raise Killed
        if at == 1:
            Path(argv[-1]).write_bytes(b"half" * 1000)
            raise Killed
        run(*argv)
        if at == 2:
            raise Killed

    def rename(path, target):
        if at == 3:
            raise Killed
        os.rename(path, target)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(files, "run", mkfs)
        if at >= 3:
            patch.setattr(loop.Path, "rename", rename)
        with pytest.raises(Killed):
            workspaces.ensure(agent, 1, made=False)
    assert workspaces.known().count(agent) == (1 if at == 4 else 0)

    made = workspaces.ensure(agent, 1, made=False)

    assert json.loads((made.identity / "workspace.json").read_text())["agent"] == agent
    assert run("findmnt", "-no", "FSTYPE", str(made.data.parent)).strip() == "ext4"
    workspaces.destroy(agent)
    assert everything(workspaces) == before, "something was left behind"


def test_without_its_pool_nothing_is_made(tmp_path):
    driver = LoopWorkspaces(tmp_path)
    driver.pool.mkdir()

    with pytest.raises(WorkspaceTrouble, match="pool of workspaces is not mounted"):
        driver.ensure("agt_a", 1, made=False)
    assert list(driver.pool.iterdir()) == []


def test_a_full_pool_says_so_and_old_disks_still_mount(workspaces, agent, monkeypatch):
    other = ids.agent_id()
    workspaces.ensure(agent, 1, made=False)
    workspaces.release(agent)
    monkeypatch.setattr(files, "RESERVE", 2**60)

    with pytest.raises(PoolFull, match="An operator must make room"):
        workspaces.ensure(other, 1, made=False)
    assert workspaces.ensure(agent, 1, made=True).data.exists()


def test_the_pool_is_made_once_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "POOL_SHARE", 0.05)
    driver = LoopWorkspaces(tmp_path)
    try:
        (tmp_path / "pool.part").write_text("half a pool")
        driver.prepare_node()
        driver.prepare_node()
        driver.ensure("agt_a", 1, made=False)
        unmount(driver.points / "agt_a")
        unmount(driver.pool)
        with pytest.raises(WorkspaceTrouble, match="not mounted"):
            driver.known()

        driver.prepare_node()

        assert driver.known() == ["agt_a"]
        assert driver.ensure("agt_a", 1, made=True).data.exists()
        assert driver.pool.stat().st_mode & 0o7777 in {0o711, 0o755}
    finally:
        for point in mounts_below(tmp_path):
            unmount(point)


def test_mount_points_with_odd_names_are_found(tmp_path):
    odd = tmp_path / 'a b\tc\\d"e\nf'
    odd.mkdir()
    assert not is_mounted(odd)
    run("mount", "-t", "tmpfs", "roost-test", str(odd))
    run("mount", "-t", "tmpfs", "roost-test", str(odd))  # over itself
    try:
        assert is_mounted(odd)
        assert mounts_below(tmp_path) == [odd, odd]
        assert not is_mounted(tmp_path)
    finally:
        unmount(odd)
    assert not is_mounted(odd)
    assert mounts_below(tmp_path) == []


def test_unmount_lets_go_of_a_disk_that_somebody_still_reads(workspaces, agent):
    made = workspaces.ensure(agent, 1, made=False)
    (made.data / "file").write_text("x")

    with (made.data / "file").open() as held:
        workspaces.release(agent)
        assert not workspaces.held(agent)
        assert held.read() == "x"

    assert (workspaces.ensure(agent, 1, made=True).data / "file").read_text() == "x"


def test_a_tool_that_fails_or_hangs_or_is_missing_is_told(monkeypatch):
    monkeypatch.setattr("provisioner.workspaces.mounts.TIMEOUT", 0.2)

    with pytest.raises(WorkspaceTrouble, match=r"ls failed: .*nowhere"):
        run("ls", "/nowhere")
    with pytest.raises(WorkspaceTrouble, match="did not end within"):
        run("sleep", "5")
    with pytest.raises(WorkspaceTrouble, match="is not installed on this node"):
        run("roost-no-such-tool")


# --- from inside


def test_the_limit_is_hard_and_hurts_nobody_else(node, tiny, acme_box, workspaces):
    fill = (
        "import errno, os\n"
        "written, f = 0, open('/workspace/fill', 'wb', buffering=0)\n"
        "os.posix_fallocate(f.fileno(), 0, 800 << 20)\n"
        "f.seek(800 << 20)\n"
        "try:\n"
        "    while True: written += f.write(b'x' * (1 << 20))\n"
        "except OSError as error: print(errno.errorcode[error.errno], 800 + (written >> 20))\n"
    )
    with box(node, tiny, ACME_NET, host=3) as full:
        done = full.python(fill)
        assert done.said.split()[0] == "ENOSPC", done
        assert 850 < int(done.said.split()[1]) < 1024
        assert full.python("open('/workspace/more', 'w').write('x' * (4 << 20))").code != 0

        assert acme_box.python("open('/workspace/mine', 'w').write('x' * 4096)").code == 0
        other = ids.agent_id()
        assert workspaces.ensure(other, 1, made=False).data.exists()
        workspaces.destroy(other)

        assert full.run("rm", "/workspace/fill").code == 0  # it can help itself
        assert full.python("open('/workspace/more', 'w').write('x' * 4096)").code == 0
        assert node.engine.inspect(full.name).restart_count == 0


def test_a_million_small_files_hurt_nobody_else_either(acme_box):
    """Inodes are the disk's own, too: the numbers inside are not the host's."""
    inside = acme_box.ask(
        "import json, os; s = os.statvfs('/workspace'); print(json.dumps([s.f_blocks * s.f_frsize,"
        "s.f_files]))"
    )

    assert inside[0] < 2**30
    assert inside[1] == 65536


IDENTITY = """
import errno, json, os
def attempt(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "OK"
path, mine = "/roost/id/workspace.json", "/workspace/forged"
open(mine, "w").write("{}")
print(json.dumps({
    "write": attempt(lambda: open(path, "w")),
    "append": attempt(lambda: open(path, "a")),
    "truncate": attempt(lambda: os.truncate(path, 0)),
    "unlink": attempt(lambda: os.unlink(path)),
    "rename over": attempt(lambda: os.rename(mine, path)),
    "rename away": attempt(lambda: os.rename(path, "/workspace/old")),
    "link": attempt(lambda: os.link(path, "/workspace/link")),
    "link over": attempt(lambda: os.link(mine, "/roost/id/link")),
    "symlink": attempt(lambda: os.symlink(mine, "/roost/id/link")),
    "chmod": attempt(lambda: os.chmod(path, 0o666)),
    "chmod folder": attempt(lambda: os.chmod("/roost/id", 0o777)),
    "utime": attempt(lambda: os.utime(path)),
    "xattr": attempt(lambda: os.setxattr(path, "user.a", b"b")),
    "remove folder": attempt(lambda: os.rmdir("/roost/id")),
    "move /workspace": attempt(lambda: os.rename("/workspace", "/workspace2")),
    "above": attempt(lambda: os.stat("/workspace/../id/workspace.json")),
}))
"""


def test_the_identity_cannot_be_forged_from_inside(acme_box, workspaces):
    path = workspaces.points / acme_box.agent_id / "id" / "workspace.json"
    before = path.read_bytes(), path.stat()

    attempts = acme_box.ask(IDENTITY)

    assert "OK" not in attempts.values(), attempts
    assert (path.read_bytes(), path.stat()) == before


def test_an_unmounted_workspace_is_not_booted_blank_and_is_found_again(node, tiny):
    """The engine alone restarts it, and it refuses (78) until the node has mounted; no boot is
    lost on the stubs."""
    with box(node, tiny, ACME_NET, host=3) as made:
        made.run("sh", "-c", "echo kept > /workspace/file")
        os.kill(made.pid, 9)
        wait_for(lambda: node.engine.inspect(made.name).state == "running")
        until_up(made, boots=2)
        node.workspaces.release(made.agent_id)
        point = node.workspaces.points / made.agent_id
        os.kill(made.pid, 9)
        wait_for(lambda: node.engine.inspect(made.name).exit_code == 78)
        refused = json.loads(node.engine.log_tail(made.name, 1)[0].text)
        assert (refused["roost"], refused["code"]) == ("boot", "workspace_missing")
        assert list((point / "data").iterdir()) == []

        node.workspaces.ensure(made.agent_id, 1, made=True)
        unmount(node.keys.root / made.agent_id)
        node.engine.nudge(made.name)
        wait_for(lambda: '"keys_missing"' in node.engine.log_tail(made.name, 1)[0].text)

        node.keys.deliver(made.agent_id, Delivery("0" * 32))
        node.engine.nudge(made.name)
        until_up(made, boots=3)
        assert made.run("cat", "/workspace/file").said.strip() == "kept"


def test_a_clean_up_of_what_is_unused_takes_no_workspace(node, tiny):
    """What `volume prune` and `system prune --volumes` do, to our own part."""
    api = node.engine._api
    mine = {"label": [f"{names.INSTALLATION}={INSTALLATION}"]}
    with box(node, tiny, ACME_NET, host=3) as made:
        made.run("sh", "-c", "echo kept > /workspace/file")
        node.engine.ensure_stopped(made.name, 5)
        node.workspaces.release(made.agent_id)

        api.prune_volumes(filters=mine)
        removed = api.prune_containers(filters=mine)
        api.prune_networks(filters=mine)

        assert len(removed["ContainersDeleted"]) == 1
        data = node.workspaces.ensure(made.agent_id, 1, made=True).data
        assert (data / "file").read_text() == "kept\n"


# --- the plain driver


def test_plain_workspaces_belong_to_the_agent_and_go_away_whole(node, tmp_path):
    driver = PlainWorkspaces(tmp_path, node.engine)
    driver.prepare_node()
    agent = ids.agent_id()

    made = driver.ensure(agent, 1, made=False)
    assert driver.ensure(agent, 1, made=True) == made
    assert (made.data.stat().st_uid, made.data.stat().st_mode & 0o7777) == (10001, 0o700)
    assert json.loads((made.identity / "workspace.json").read_text())["agent"] == agent
    assert driver.known() == [agent]
    (made.data / "deep" / "er").mkdir(parents=True)
    (made.data / "deep" / "er" / "file").write_text("x")
    os.chown(made.data / "deep", 10001, 10001)

    for _ in range(2):
        driver.destroy(agent)
    assert driver.known() == []
    assert not made.data.parent.exists()
    with pytest.raises(WorkspaceLost):
        driver.ensure(agent, 1, made=True)


def test_a_plain_workspace_half_made_is_made_whole(node, tmp_path, monkeypatch):
    driver = PlainWorkspaces(tmp_path, node.engine)
    driver.prepare_node()
    agent = ids.agent_id()
    with monkeypatch.context() as patch:
        patch.setattr(driver, "_as_root", lambda *_: (_ for _ in ()).throw(WorkspaceTrouble("no")))
        with pytest.raises(WorkspaceTrouble):
            driver.ensure(agent, 1, made=False)

    made = driver.ensure(agent, 1, made=False)

    assert made.data.stat().st_uid == 10001
    driver.destroy(agent)


def test_a_plain_workspace_of_another_agent_is_refused(node, tmp_path):
    driver = PlainWorkspaces(tmp_path, node.engine)
    driver.prepare_node()
    first, second = ids.agent_id(), ids.agent_id()
    driver.ensure(first, 1, made=False)
    (driver.points / first).rename(driver.points / second)

    with pytest.raises(WorkspaceForeign, match=first):
        driver.ensure(second, 1, made=True)
    driver.destroy(second)
