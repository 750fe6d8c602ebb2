"""`manage`: one of the product's own commands, as the node of this installation would run it."""

import os
import subprocess
import sys
from collections.abc import Sequence

from deploy.local import credentials, network
from deploy.local.errors import CheckFailed
from deploy.local.layout import REPOSITORY, Installation
from deploy.local.stack import MANAGE
from deploy.local.up import product

SECRETS = "secrets.json"


def manage(installation: Installation, words: Sequence[str]) -> int:
    """Its exit code; what it prints is shown as it comes."""
    path = installation.state_dir / SECRETS
    if not path.exists():
        raise CheckFailed(
            f"There is no installation in {installation.state_dir}.",
            "Start it with `make up`, or name another with ROOST_STATE_DIR.",
        )
    address = network.service_address(installation, os.environ)
    stack = product(installation, credentials.ensure(path), address)
    environment = {**os.environ, **stack.provisioner_environment()}
    argv = [sys.executable, MANAGE, *words]
    return subprocess.run(argv, env=environment, cwd=REPOSITORY, check=False).returncode
