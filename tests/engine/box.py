"""A container exactly as an agent has it, made without the database, to look out of from inside.

Agent and release are rows that were never saved; from there on everything is the product's own:
spec, workspace, keys, network, boot shim. The runtime inside is the tiny one.
"""

import contextlib
import ipaddress
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from controlplane import ids
from controlplane.agents.models import Agent, Release
from provisioner import names
from provisioner.backend import Backend
from provisioner.engines.base import EngineRefused, NetworkSpec
from provisioner.secrets import Delivery
from provisioner.spec import Place, container_spec
from runtimes.catalog import CATALOG

TOKEN = "0123456789abcdef" * 2
LONGEST = 20  # seconds a program inside may take


@dataclass(frozen=True)
class Done:
    code: int
    said: str


@dataclass(frozen=True)
class Box:
    backend: Backend
    agent_id: str
    network: NetworkSpec
    address: str

    @property
    def name(self) -> str:
        return names.container(self.agent_id)

    @property
    def pid(self) -> int:
        """Of its init, on the host."""
        return self.inspect()["State"]["Pid"]

    def inspect(self):
        return self.backend.engine._api.inspect_container(self.name)

    def run(self, *argv: str) -> Done:
        """A program inside, with the rights the agent has."""
        api = self.backend.engine._api
        made = api.exec_create(self.name, ["timeout", "-s", "KILL", str(LONGEST), *argv])
        said = api.exec_start(made["Id"]).decode(errors="replace")
        return Done(api.exec_inspect(made["Id"])["ExitCode"], said)

    def python(self, code: str, *argv: str) -> Done:
        return self.run("/usr/bin/python3", "-I", "-S", "-c", code, *argv)

    def ask(self, code: str, *argv: str):
        """What a program inside printed as JSON."""
        done = self.python(code, *argv)
        assert done.code == 0, done
        return json.loads(done.said)

    def connect(self, *targets: tuple[str, int]) -> list["Knock"]:
        """What becomes of a TCP connection to each, and after how many seconds."""
        return [Knock(*row) for row in self.ask(CONNECT, json.dumps(targets))]


@dataclass(frozen=True)
class Knock:
    host: str
    port: int
    result: str  # open, refused, timeout, or the error's name
    seconds: float


CONNECT = """
import errno, json, socket, sys, time
found = []
for host, port in json.loads(sys.argv[1]):
    began = time.monotonic()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as one:
        one.settimeout(3)
        where = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4]
        try:
            one.connect(where)
            result = "open"
        except ConnectionRefusedError:
            result = "refused"
        except TimeoutError:
            result = "timeout"
        except OSError as error:
            result = errno.errorcode[error.errno]
    found.append((host, port, result, time.monotonic() - began))
print(json.dumps(found))
"""


def network_of(installation: str, pool: str, number: int) -> NetworkSpec:
    subnet = list(ipaddress.ip_network(pool).subnets(new_prefix=28))[number]
    return NetworkSpec(
        name=names.network(installation, number),
        bridge=names.bridge(installation, number),
        subnet=str(subnet),
        gateway=str(subnet[1]),
        labels=dict(names.mine(installation)),
    )


@contextlib.contextmanager
def box(
    backend: Backend,
    image: str,
    network: NetworkSpec,
    host: int = 2,
    *,
    dns: tuple[str, ...] = (),
    memory_mb: int = 128,
    isolation: str = "default",
) -> Iterator[Box]:
    """It runs for the block; afterwards nothing of it is left."""
    agent = Agent(id=ids.agent_id(), organisation_id=ids.organisation_id())
    release = Release(
        agent=agent, number=1, image=image, provider="custom", model="m",
        base_url="http://127.0.0.1/v1", memory_mb=memory_mb, cpu_millis=1000, disk_gib=1,
        egress="none", isolation=isolation,
    )  # fmt: skip
    address = str(ipaddress.ip_network(network.subnet)[host])
    made = Box(backend, agent.pk, network, address)
    try:
        place = Place(
            installation=network.labels[names.INSTALLATION],
            workspace=backend.workspaces.ensure(agent.pk, 1, made=False),
            keys_dir=backend.keys.directory(agent.pk),
            network=network.name,
            address=address,
            dns=dns,
        )
        backend.keys.deliver(agent.pk, Delivery(TOKEN))
        backend.engine.ensure_network(network)
        backend.engine.ensure_created(container_spec(agent, release, CATALOG["hermes"], place))
        backend.engine.ensure_started(made.name)
        until_up(made)
        yield made
    finally:
        backend.engine.ensure_removed(made.name)
        backend.keys.withdraw(agent.pk)
        backend.workspaces.destroy(agent.pk)
        with contextlib.suppress(EngineRefused):  # others are still in it
            backend.engine.ensure_network_removed(network.name)


def until_up(made: Box, boots: int = 1) -> None:
    """The boot shim has let the runtime in, for that many times."""
    end = time.monotonic() + 20
    while True:
        lines = made.backend.engine.log_tail(made.name, 50)
        if sum("tiny: up" in line.text for line in lines) >= boots:
            return
        assert time.monotonic() < end, lines
        time.sleep(0.05)
