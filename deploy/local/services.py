"""PostgreSQL, Valkey, OpenBao and SeaweedFS together: under the supervisor, or held by a test."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from deploy.local import credentials, files
from deploy.local.credentials import Credentials
from deploy.local.errors import ProgramFailed
from deploy.local.layout import Installation, socket_dir
from deploy.local.openbao import OpenBao
from deploy.local.postgres import Postgres
from deploy.local.processes import MARK
from deploy.local.programs import Program, base_environment
from deploy.local.seaweedfs import BUCKET, PORTS, SeaweedFS
from deploy.local.valkey import Valkey
from deploy.vault import MOUNT

READY_S = 60


class Service(Protocol):
    """`prepare` before a start, `problem` until it is None, `finish` once it answers."""

    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def program(self) -> Program: ...
    def prepare(self) -> None: ...
    def problem(self) -> str | None: ...
    def finish(self) -> None: ...


def of(installation: Installation, given: Credentials) -> tuple[Service, ...]:
    return (*essential(installation, given), SeaweedFS(installation, given))


def essential(installation: Installation, given: Credentials) -> tuple[Service, ...]:
    """Without the off-site store, which nothing but shipped snapshots needs."""
    return Postgres(installation), Valkey(installation), OpenBao(installation, given)


def addresses(services: tuple[Service, ...], given: Credentials) -> dict[str, str]:
    """What a process needs to use the services; the two vault roles side by side."""
    postgres, valkey, openbao, *more = services
    store = store_addresses(more[0], given) if more else {}
    return {
        "DATABASE_URL": postgres.url,
        "REDIS_URL": valkey.url,
        "VAULT_ADDR": openbao.url,
        "VAULT_MOUNT": MOUNT,
        "VAULT_WEB_ROLE_ID": given.web_role_id,
        "VAULT_WEB_SECRET_ID": given.web_secret_id,
        "VAULT_PROVISIONER_ROLE_ID": given.provisioner_role_id,
        "VAULT_PROVISIONER_SECRET_ID": given.provisioner_secret_id,
        **store,
    }


def store_addresses(store: Service, given: Credentials) -> dict[str, str]:
    """What a process needs to ship snapshots."""
    return {
        "S3_ENDPOINT_URL": store.url,
        "S3_BUCKET": BUCKET,
        "S3_ACCESS_KEY_ID": given.store_key_id,
        "S3_SECRET_ACCESS_KEY": given.store_secret_key,
    }


@contextmanager
def backing_services(state_dir: Path, *, vault_port: int | None = None) -> Iterator[dict[str, str]]:
    """Run the three services for the block, without a supervisor; a second run keeps the data.

    Yields the mapping of `addresses`. The directory is made when missing and left as it is.
    """
    installation, given = _own(state_dir, (vault_port or free_port()) - 3)
    services = essential(installation, given)
    with _all_running(services, installation):
        yield addresses(services, given)


@contextmanager
def backing_store(state_dir: Path, *, port: int | None = None) -> Iterator[dict[str, str]]:
    """Run the off-site store alone for the block; a second run keeps the data.

    Yields the mapping of `store_addresses`.
    """
    installation, given = _own(state_dir, (port or free_port(PORTS)) - 4)
    store = SeaweedFS(installation, given)
    with _all_running((store,), installation):
        yield store_addresses(store, given)


def _own(state_dir: Path, port: int) -> tuple[Installation, Credentials]:
    uid = os.geteuid()
    run_dir = socket_dir(state_dir, os.environ, uid)
    installation = Installation(state_dir, run_dir, name="services", port=port, root=uid == 0)
    files.prepare(installation)
    return installation, credentials.ensure(state_dir / "secrets.json")


@contextmanager
def _all_running(services: tuple[Service, ...], installation: Installation) -> Iterator[None]:
    with ExitStack() as stack:
        running = {}
        for service in services:
            service.prepare()
            running[service.name] = stack.enter_context(_running(service.program, installation))
        for service in services:
            _wait(service, running[service.name], installation)
        yield


def free_port(following: int = 1) -> int:
    """One that is free, and so are those behind it, `following` in all."""
    for _ in range(200):
        with ExitStack() as stack:
            try:
                first = stack.enter_context(_bound(0))
                for number in range(first + 1, first + following):
                    stack.enter_context(_bound(number))
            except OSError:
                continue
            return first
    raise ProgramFailed(f"There are no {following} free ports in a row.", "End what holds them.")


@contextmanager
def _bound(port: int) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
        yield int(probe.getsockname()[1])


def environment(program: Program, environ: Mapping[str, str], state_dir: Path) -> dict[str, str]:
    return {**base_environment(environ), **program.environment, MARK: str(state_dir)}


@contextmanager
def _running(program: Program, installation: Installation) -> Iterator[subprocess.Popen[bytes]]:
    with (installation.log_dir / f"{program.name}.log").open("ab") as log:
        process = subprocess.Popen(
            program.argv,
            cwd=program.directory,
            env=environment(program, os.environ, installation.state_dir),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.Signals[f"SIG{program.stop_signal}"])
        try:
            process.wait(program.stop_wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(service: Service, process: subprocess.Popen[bytes], installation: Installation) -> None:
    deadline = time.monotonic() + READY_S
    while problem := service.problem():
        if process.poll() is not None or time.monotonic() > deadline:
            log = installation.log_dir / f"{service.name}.log"
            raise ProgramFailed(
                f"{service.name} did not become ready ({problem}).", f"Its log is {log}."
            )
        time.sleep(0.05)
    service.finish()
