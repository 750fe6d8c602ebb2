"""Ending an agent from the host, past the engine."""

import os
import signal
import time
from pathlib import Path


def kill_main(engine, name: str) -> None:
    """`kill -9` of the process under the engine's init, as soon as there is one."""
    init = engine._api.inspect_container(name)["State"]["Pid"]
    listed = Path(f"/proc/{init}/task/{init}/children")
    end = time.monotonic() + 10
    while not (children := listed.read_text().split()):
        assert time.monotonic() < end, f"{name} has an init and nothing below it"
        time.sleep(0.01)
    os.kill(int(children[0]), signal.SIGKILL)
