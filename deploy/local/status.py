"""`status`: what runs, and where."""

import os

from deploy.local import engine, files
from deploy.local.layout import Installation
from deploy.local.report import say
from deploy.local.supervisor import Supervisor


def status(installation: Installation) -> bool:
    """Print one line per program; True when everything runs."""
    why = engine.problem(os.environ)
    say(f"{'engine':<10} {'RUNNING' if why is None else f'NOT REACHABLE  {why}'}")
    states = Supervisor(installation).states()
    if not states:
        say(f"Nothing runs in {installation.state_dir}. Start it with `make up`.")
        return False
    for name, state in states.items():
        say(f"{name:<10} {state.name:<9} {state.description}")
    if url := files.read_json(installation.state_dir / "local.json").get("url"):
        say(f"\n{url}   credentials: {installation.state_dir / 'local.json'}")
    return why is None and all(state.name == "RUNNING" for state in states.values())
