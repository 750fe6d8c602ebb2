"""A node's work in a process of its own that ends by `kill -9` just before a named function.

python -m tests.engine.mortal_work job KIND ID FENCE MODULE:FUNCTION
python -m tests.engine.mortal_work reap MODULE:FUNCTION
"""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django


def killed_at(state: Path, services: Any, settings: Any, vault: Any, *words: str) -> None:
    """Start it, and see that it was killed there and nowhere else."""
    from django.db import connection

    base = urlsplit(services["DATABASE_URL"])
    stores = ("S3_ENDPOINT_URL", "S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
        "DATABASE_URL": base._replace(path="/" + connection.settings_dict["NAME"]).geturl(),
        "PYTHONPATH": os.pathsep.join(["platform", "."]),
        "ROOST_INSTALLATION": settings.ROOST_INSTALLATION,
        "ROOST_NETWORK_POOL": settings.ROOST_NETWORK_POOL,
        "ROOST_SERVICE_ADDRESS": settings.ROOST_SERVICE_ADDRESS,
        "ROOST_STATE_DIR": str(state),
        "VAULT_HOLDS": json.dumps(vault.values),
        **{name: getattr(settings, name) for name in stores},
    }
    argv = [sys.executable, "-m", "tests.engine.mortal_work", *words]
    done = subprocess.run(
        argv, env=environment, timeout=120, check=False, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)


def die_before(where: str) -> None:
    module, _, name = where.partition(":")
    owner: Any = import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    setattr(owner, last, lambda *args, **more: os.kill(os.getpid(), signal.SIGKILL))


def backend_of(state: Path) -> Any:
    from controlplane.keys.vault.memory import MemoryVault
    from provisioner.backend import Backend
    from provisioner.engines.docker import DockerEngine
    from provisioner.probe import HttpProber
    from provisioner.secrets import TmpfsKeys
    from provisioner.workspaces.loop import LoopWorkspaces

    vault = MemoryVault()
    vault.values = json.loads(os.environ["VAULT_HOLDS"])
    return Backend(
        engine=DockerEngine(),
        workspaces=LoopWorkspaces(state),
        keys=TmpfsKeys(state / "keys"),
        vault=vault,
        prober=HttpProber(),
        guarded=True,
        patience=20,
    )


def main(what: str, *words: str) -> None:
    from controlplane.jobs.claim import Claim
    from provisioner.jobs.kinds import KINDS
    from provisioner.strays import reaping

    backend = backend_of(Path(os.environ["ROOST_STATE_DIR"]))
    die_before(words[-1])
    if what == "reap":
        reaping.carry_out(backend, print)
    else:
        kind, job, fence, _ = words
        KINDS[kind].run(Claim(KINDS[kind].model, job, int(fence)), backend)


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
