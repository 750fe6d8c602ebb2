import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local import checks, processes
from deploy.local.errors import CheckFailed


def test_a_full_disk_is_told_with_what_is_there_and_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match=r"Only 7\.5 GiB are free .* first start needs 8 GiB"):
        checks.disk(tmp_path / "var", free=int(7.5 * checks.GIB))


def test_a_later_start_needs_little_disk(tmp_path: Path) -> None:
    (tmp_path / "local.json").touch()
    checks.disk(tmp_path, free=2 * checks.GIB)
    with pytest.raises(CheckFailed, match="a start needs 1 GiB"):
        checks.disk(tmp_path, free=checks.GIB - 1)


def test_an_old_python_and_another_system_are_refused() -> None:
    with pytest.raises(CheckFailed, match=r"Python 3\.10 is too old"):
        checks.system(version=(3, 10))
    with pytest.raises(CheckFailed, match="needs Linux, and this is darwin"):
        checks.system(platform="darwin")


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_a_taken_port_names_the_process_that_has_it(address: str, tmp_path: Path) -> None:
    with socket.create_server((address, 0)) as server:
        number = server.getsockname()[1]
        with pytest.raises(CheckFailed) as refused:
            checks.port(number, "127.0.0.1", "web", tmp_path)
    assert refused.value.what.startswith(f"Port {number} (web) is taken by ")
    assert f"(pid {os.getpid()})" in refused.value.what
    assert "ROOST_PORT" in refused.value.do


def test_a_port_taken_over_ipv6_counts_too(tmp_path: Path) -> None:
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server,
        pytest.raises(CheckFailed, match="is taken by"),
    ):
        checks.port(server.getsockname()[1], "127.0.0.1", "web", tmp_path)


def test_a_free_port_and_one_of_another_address_pass(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.2", 0)) as server:
        number = server.getsockname()[1]
        checks.port(number, "127.0.0.1", "web", tmp_path)
    checks.port(number, "127.0.0.2", "web", tmp_path)


def test_a_port_held_by_this_installation_passes(tmp_path: Path) -> None:
    listen = "import socket,sys; s=socket.create_server(('127.0.0.1',0)); "
    tell = "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", listen + tell],
        env={**os.environ, processes.MARK: str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as ours:
        assert ours.stdout
        number = int(ours.stdout.readline())
        checks.port(number, "127.0.0.1", "web", tmp_path)
        with pytest.raises(CheckFailed, match=f"pid {ours.pid}"):
            checks.port(number, "127.0.0.1", "web", tmp_path / "other")
        ours.communicate()
