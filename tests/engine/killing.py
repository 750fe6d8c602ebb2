"""Ending an agent from the host, past the engine."""

import os
import signal
from pathlib import Path


def kill_main(engine, name: str) -> None:
    """`kill -9` of the process under the engine's init."""
    init = engine._api.inspect_container(name)["State"]["Pid"]
    children = Path(f"/proc/{init}/task/{init}/children").read_text()
    os.kill(int(children.split()[0]), signal.SIGKILL)
