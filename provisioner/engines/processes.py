"""Ending what runs in a container from its host, past its engine."""

import os
import signal
from pathlib import Path

from provisioner.engines.base import EngineRefused


def kill_main(init: int) -> None:
    """`kill -9` of the process under a container's init, or of that itself where it has none; gone
    meanwhile is no error. Raises EngineRefused."""
    try:
        below = Path(f"/proc/{init}/task/{init}/children").read_text().split()
        os.kill(int(below[0]) if below else init, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return
    except PermissionError as error:
        said = "This node may not end a container's processes: it does not run as root."
        raise EngineRefused(said) from error
