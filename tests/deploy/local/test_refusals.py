"""What a person sees when it cannot go on: one sentence, what to do, code 1, no traceback."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from deploy.local.services import free_port


def _run(*arguments: str, answer: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.local", *arguments],
        env={**os.environ, **environment},
        input=answer,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


def _own(tmp_path: Path, **more: str) -> Mapping[str, str]:
    port = str(free_port() - 3)
    return {"ROOST_STATE_DIR": str(tmp_path / "var"), "ROOST_PORT": port, **more}


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = _run("up", **_own(tmp_path, ROOST_PORT=str(port)))
    assert done.returncode == 1
    assert f"Port {port} (web) is taken by" in done.stderr
    assert f"(pid {os.getpid()})" in done.stderr
    assert "ROOST_PORT" in done.stderr
    assert "failed after" in done.stdout


def test_a_missing_engine(tmp_path: Path) -> None:
    done = _run("up", **_own(tmp_path, DOCKER_HOST="unix:///nonexistent/docker.sock"))
    assert done.returncode == 1
    assert "The Docker Engine does not answer (unix:///nonexistent/docker.sock" in done.stderr
    assert "DOCKER_HOST" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "var" / "postgres").exists()


def test_a_bad_value(tmp_path: Path) -> None:
    done = _run("up", **_own(tmp_path, ROOST_PORT="99999"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("\nROOST_PORT is '99999'.\nUse a number")


def test_a_state_directory_with_other_files_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "thesis.txt").write_text("years of work")
    for arguments in (("up",), ("clean", "--yes"), ("down",)):
        done = _run(*arguments, **_own(tmp_path))
        assert done.returncode == 1
        assert "holds files that are not Roost's" in done.stderr
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["thesis.txt"]


def test_clean_says_what_is_lost_and_takes_only_yes(tmp_path: Path) -> None:
    own = _own(tmp_path)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / ".roost-state").touch()
    for answer in ("", "no\n", "YES please\n"):
        done = _run("clean", answer=answer, **own)
        assert done.returncode == 1
        assert "every agent's workspace, all keys, the database" in done.stdout
    assert (tmp_path / "var").exists()
    assert _run("clean", answer="yes\n", **own).returncode == 0
    assert not (tmp_path / "var").exists()


def test_down_and_clean_of_nothing_are_fine(tmp_path: Path) -> None:
    own = _own(tmp_path)
    assert [_run(verb, **own).returncode for verb in ("down", "clean")] == [0, 0]
    assert not (tmp_path / "var").exists()


def test_an_unknown_command_is_wrong_usage(tmp_path: Path) -> None:
    assert _run("explode", **_own(tmp_path)).returncode == 2


def test_a_command_of_an_installation_that_is_not_there(tmp_path: Path) -> None:
    done = _run("manage", "strays", **_own(tmp_path))
    assert done.returncode == 1
    assert "There is no installation in" in done.stderr
