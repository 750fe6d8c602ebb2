"""A short program in a container of an agent's profile, from its start to its end."""

import time
from typing import Any

from provisioner.engines.base import Apart, EngineRefused
from provisioner.engines.docker_spec import apart_arguments

LOOK = 0.2  # seconds between two looks at whether it has ended
LINES = 400  # that are kept of what it says


def run_apart(api: Any, apart: Apart, cores: int, patience: int) -> tuple[int, str]:
    """It is gone when this returns, however that is. Nothing else has its name."""
    made = api.create_container(**apart_arguments(api, apart, cores, patience))["Id"]
    try:
        api.start(made)
        ends = time.monotonic() + patience
        while (state := api.inspect_container(made)["State"])["Running"]:
            if time.monotonic() > ends:
                raise EngineRefused(f"It took longer than {patience} s and was ended.")
            time.sleep(LOOK)
        said = api.logs(made, tail=LINES).decode(errors="replace")
        return int(state["ExitCode"]), said
    finally:
        api.remove_container(made, force=True)
