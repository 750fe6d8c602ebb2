import os
import signal
import subprocess
import sys
from pathlib import Path

from deploy.local import processes
from deploy.local.processes import Process


def test_only_processes_with_the_mark_of_the_directory_are_ours(tmp_path: Path) -> None:
    with _sleeper(tmp_path) as ours, _sleeper(tmp_path / "other") as other:
        found = [process.pid for process in processes.marked(tmp_path)]
        assert found == [ours.pid]
        processes.end(processes.marked(tmp_path), grace=5)
        assert ours.wait(5) == -signal.SIGTERM
        assert other.poll() is None
        other.kill()


def test_a_pid_that_was_given_to_another_process_is_not_signalled(tmp_path: Path) -> None:
    with _sleeper(tmp_path) as innocent:
        now = processes.find(innocent.pid)
        assert now is not None
        processes.send(Process(now.pid, now.started - 1), signal.SIGKILL)
        assert processes.alive(now)
        innocent.kill()


def test_one_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    deaf = (
        "import signal,time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    with _sleeper(tmp_path, deaf) as stubborn:
        assert stubborn.stdout
        stubborn.stdout.readline()
        processes.end(processes.marked(tmp_path), grace=0.2)
        assert stubborn.wait(5) == -signal.SIGKILL


def test_a_zombie_counts_as_gone(tmp_path: Path) -> None:
    with _sleeper(tmp_path, "") as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.find(child.pid) is None


def _sleeper(state_dir: Path, code: str = "import time; time.sleep(60)") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, processes.MARK: str(state_dir)},
        stdout=subprocess.PIPE,
        text=True,
    )
