"""`down` and `clean`: end what this installation started, and nothing else."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from deploy.local import commands, credentials, engine, files, network, processes, services, up
from deploy.local.errors import CheckFailed, CommandFailed, LocalError
from deploy.local.layout import Installation
from deploy.local.report import say, step
from deploy.local.supervisor import Supervisor

PRODUCT = ["web", "worker", "node", "gateway"]
NODE_S = 180


def down(installation: Installation, *, node_command: str = "node_down") -> None:
    """Works when parts are dead already; goals are left alone, so `up` brings all back."""
    supervisor = Supervisor(installation)
    with step("product stopped"):
        supervisor.stop(PRODUCT)
    _node(installation, supervisor, node_command)
    with step("services stopped"):
        supervisor.stop(["model", "valkey", "openbao", "seaweedfs"])
        supervisor.shutdown()
    try:
        network.remove(installation)
    except CheckFailed as error:
        say(f"  {error}")
    _engine(installation)


def _node(installation: Installation, supervisor: Supervisor, command: str) -> None:
    """Agents are stopped by the product's own command, which knows them and their database."""
    secrets = installation.state_dir / "secrets.json"
    fake = os.environ.get("ROOST_ENGINE") == "fake"
    begun = secrets.exists() and (installation.log_dir / "node.log").exists()
    done = command == "node_down" and installation.stopped.exists()
    if fake or done or not begun or engine.problem(os.environ):
        return
    given = credentials.ensure(secrets)
    backing = services.of(installation, given)
    if backing[0].problem():
        with suppress(LocalError):
            up.start_services(installation, supervisor, backing)
    own = up.product(installation, given, installation.pool_address)
    log = installation.log_dir / "commands.log"
    with step("agents stopped" if command == "node_down" else "agents removed") as current:
        try:
            commands.manage([command], own.provisioner_environment(), log, timeout=NODE_S)
        except CommandFailed as error:
            if command == "node_clean":
                raise
            current.note = f"not all: {error}"
            return
    installation.stopped.touch()


def _engine(installation: Installation) -> None:
    if not engine.started_by_us(installation):
        return
    if others := engine.running_containers(os.environ):
        say(f"the engine stays up: {others} other container(s) run in it")
        return
    with step("engine stopped"):
        engine.stop(installation)


def clean(installation: Installation, *, sure: bool) -> None:
    """Forget the installation: its agents, its data, its state directory."""
    state_dir = installation.state_dir
    if not state_dir.exists():
        say(f"Nothing to forget: {state_dir} does not exist.")
        return
    if not files.is_ours(state_dir):
        raise CheckFailed(
            f"{state_dir} was not made by `make up`, so it is not deleted.",
            "Check ROOST_STATE_DIR.",
        )
    if not sure and not _confirmed(state_dir):
        raise CheckFailed("Nothing was deleted.", "Answer `yes`, or run `make clean YES=1`.")
    down(installation, node_command="node_clean")
    with step("state deleted"):
        unmount_below(state_dir)
        _delete(installation)


def _confirmed(state_dir: Path) -> bool:
    say(
        f"This deletes {state_dir}: every agent's workspace, all keys, the database and the"
        " accounts of this installation. It cannot be undone."
    )
    try:
        return input("Type yes to go on: ").strip() == "yes"
    except EOFError:
        return False


def mounts_below(directory: Path) -> list[Path]:
    """Mount points in the directory, the deepest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = Path(line.split()[4].encode().decode("unicode_escape"))
        if point.is_relative_to(directory.resolve()):
            found.append(point)
    return sorted(found, key=lambda point: len(point.parts), reverse=True)


def unmount_below(directory: Path) -> None:
    for point in mounts_below(directory):
        subprocess.run(["umount", str(point)], capture_output=True, check=False)
    if left := mounts_below(directory):
        raise CheckFailed(
            f"{left[0]} is still mounted and in use, so {directory} is not deleted.",
            "End what uses it (`fuser -vm` shows it), then run `make clean` again.",
        )


def _delete(installation: Installation) -> None:
    state_dir = installation.state_dir
    if left := processes.marked(state_dir):
        raise CheckFailed(
            f"Process {left[0].pid} of this installation still runs, so nothing is deleted.",
            "End it, then run `make clean` again.",
        )
    # A short directory for sockets and shared memory for keys are ours too; both bear our hash.
    for path in (installation.run_dir, installation.keys_dir):
        if not path.is_relative_to(state_dir) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
    shutil.rmtree(state_dir)
