"""Ending an agent from the host, past the engine."""

import os
import signal
import subprocess


def kill_main(engine, name: str) -> None:
    """`kill -9` of the process under the engine's init."""
    init = engine._api.inspect_container(name)["State"]["Pid"]
    argv = ["pgrep", "-P", str(init)]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    os.kill(int(listed.split()[0]), signal.SIGKILL)
