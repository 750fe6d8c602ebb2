"""`up`: take over what runs, start what is missing, stop at the first thing that fails."""

import os
from pathlib import Path

from deploy.local import (
    checks,
    commands,
    credentials,
    demo,
    engine,
    files,
    network,
    packages,
    ready,
    services,
    stack,
    supervisor_config,
)
from deploy.local.credentials import Credentials
from deploy.local.errors import CommandFailed
from deploy.local.layout import REPOSITORY, Installation
from deploy.local.programs import Program, base_environment, search_path
from deploy.local.report import say, step
from deploy.local.services import Service
from deploy.local.stack import Stack
from deploy.local.supervisor import State, Supervisor


def up(installation: Installation, *, services_only: bool = False) -> None:
    with step("checks"):
        checks.system()
        checks.disk(installation.state_dir, services_only=services_only)
        checks.loopback_ports(installation, services_only=services_only)
    address = "" if services_only else _machine(installation)
    prepare_offsite(installation)
    with step("secrets"):
        given = credentials.ensure(installation.state_dir / "secrets.json")
    backing = services.of(installation, given)
    facts = services.addresses(backing, given)
    files.write_json(installation.state_dir / "services.json", facts)
    if services_only:
        start_services(installation, Supervisor(installation), backing)
        say(f"\nServices: {installation.state_dir / 'services.json'}")
        return
    _product(product(installation, given, address), backing)


def _machine(installation: Installation) -> str:
    """The engine, the node's tools and the service address."""
    if os.environ.get("ROOST_ENGINE") != "fake":
        prepare_engine(installation)
    with step("service address") as current:
        address = network.ensure(installation, os.environ)
        checks.port(installation.model_port, address, "model", installation.state_dir)
        current.note = address
    if not installation.root:
        for line in WEAKER:
            say(f"  not root: {line}")
    return address


def prepare_engine(installation: Installation) -> None:
    """An engine that answers, and beside it what a node needs of the system."""
    with step("engine ready") as current:
        current.note = engine.ensure(installation, os.environ)
    path = search_path(os.environ)
    absent = packages.missing(packages.NODE, path)
    if absent and packages.can_install(path, installation.root):
        with step("system tools") as current:
            packages.install(absent.values(), installation.log_dir / "apt.log")
            current.note = " ".join(sorted(set(absent.values())))


def prepare_offsite(installation: Installation) -> None:
    """Nothing but the shipping of snapshots needs it, so a start goes on without."""
    path = search_path(os.environ)
    absent = packages.missing(packages.OFFSITE, path)
    if not absent:
        return
    try:
        if packages.can_install(path, installation.root):
            with step("restic") as current:
                packages.install(absent.values(), installation.log_dir / "apt.log")
                current.note = "installed"
            return
    except CommandFailed as error:
        say(f"  {error}")
    say("  restic is missing: snapshots stay on this node. Install it, then run `make up` again.")


WEAKER = (
    "the disk limit of a workspace is advisory: it can grow past its size",
    "keys lie in shared memory (/dev/shm) instead of a mount of their own",
    "no network guard: agents can reach this machine and the local network",
)


def start_services(
    installation: Installation,
    supervisor: Supervisor,
    backing: tuple[Service, ...],
    others: tuple[Program, ...] = (),
) -> None:
    """Start them at the same time, then wait for each."""
    programs = [*(service.program for service in backing), *others]
    shared = base_environment(os.environ)
    running = supervisor.states()
    absent = [one for one in backing if not _runs(running.get(one.name))]
    if absent:
        with step("service files"):
            for service in absent:
                service.prepare()
    with step("supervisor") as current:
        # Asked for the services alone, leave a product that runs beside them in peace.
        if others or not running:
            text = supervisor_config.render(installation, programs, shared)
            files.write(supervisor.config, text)
            current.note = "started" if supervisor.ensure(shared) else "found"
    for service in backing:
        supervisor.start(service.name)
    for service in backing:
        ready.wait(installation, supervisor, service.name, service.problem)
        service.finish()


def _runs(state: State | None) -> bool:
    return state is not None and state.name == "RUNNING"


def _product(own: Stack, backing: tuple[Service, ...]) -> None:
    installation, supervisor = own.installation, Supervisor(own.installation)
    programs = own.programs()
    start_services(installation, supervisor, backing, programs)
    installation.stopped.unlink(missing_ok=True)
    _prepare(own)
    answers = {
        "model": ready.answers(f"{own.model_url}/health"),
        "web": ready.answers(installation.url),
        "gateway": ready.answers(f"http://127.0.0.1:{installation.gateway_port}/"),
    }
    for program in programs:
        supervisor.start(program.name)
    for program in programs:
        ready.wait(installation, supervisor, program.name, answers.get(program.name, ready.runs))
    told = demo.ensure(own)
    with step("demo agent answers") as current:
        current.note = demo.wait_running(own, told)
    say(
        f"\nRoost is at {told['url']}\n"
        f"  sign in   {told['admin_email']}\n"
        f"  password  {told['admin_password']}\n"
        f"All of this and an API token: {installation.state_dir / 'local.json'}\n"
    )
    if own.choices.get("ROOST_ENGINE") != "fake":
        images(own)  # last: whoever waits for the other runtimes can look around meanwhile


def _prepare(own: Stack) -> None:
    log = own.installation.log_dir / "commands.log"
    mark, source = own.installation.state_dir / "prepared", stack.fingerprint(REPOSITORY)
    if not mark.exists() or mark.read_text() != source:
        _prepare_code(own, log)
        files.write(mark, source)
    if own.choices.get("ROOST_ENGINE") != "fake":
        images(own, demo.RUNTIME)


def _prepare_code(own: Stack, log: Path) -> None:
    """What has to be done once for each state of the code."""
    with step("database migrated"):
        commands.manage(["migrate", "--no-input"], own.web_environment(), log)
    with step("dashboard files") as current:
        fetched = commands.assets(log, root=own.installation.root)
        commands.manage(["collectstatic", "--no-input"], own.web_environment(), log)
        current.note = "fetched" if fetched else ""


def images(own: Stack, *runtimes: str) -> None:
    """Build what is missing of these runtimes' images, or of all."""
    log = own.installation.log_dir / "images.log"
    named = f"image of {', '.join(runtimes)} ready" if runtimes else "all images ready"
    with step(named):
        commands.manage(["images", *runtimes], own.provisioner_environment(), log, show=True)


def product(installation: Installation, given: Credentials, address: str) -> Stack:
    """The product as this installation runs it; nothing is started or asked."""
    facts = services.addresses(services.of(installation, given), given)
    docker_host = os.environ.get("DOCKER_HOST", "")
    return Stack(installation, given, facts, address, stack.chosen(os.environ), docker_host)
