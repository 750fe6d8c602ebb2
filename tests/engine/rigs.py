"""Docker and the fake, side by side: what the contract's tests need of each beside it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane import ids
from provisioner import names
from provisioner.engines.base import Bind, ContainerSpec, Engine, NetworkSpec
from provisioner.engines.fake import FakeEngine
from tests.engine.killing import kill_main

CONTRACT = "tests-c"  # an installation of its own, so that `containers` and `events` see no other
MINE = names.mine(CONTRACT)
NETWORK = NetworkSpec(
    name=names.network(CONTRACT, 0),
    bridge=names.bridge(CONTRACT, 0),
    subnet="10.214.252.0/28",
    gateway="10.214.252.1",
    labels=MINE,
)
# In the place of the boot shim: says each line that a file in its workspace holds, once.
PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("up", flush=True)
done = 0
while True:
    lines = open("/workspace/say").read().splitlines() if os.path.exists("/workspace/say") else []
    for line in lines[done:]:
        if line == "exit 78":
            sys.exit(78)
        print(line, flush=True)
    done = len(lines)
    time.sleep(0.02)
"""


def spec(image: str, binds: tuple[Bind, ...] = (), address: str | None = None) -> ContainerSpec:
    agent = ids.agent_id()
    return ContainerSpec(
        name=names.container(agent),
        image=image,
        labels={
            **MINE,
            names.AGENT: agent,
            names.ORGANISATION: "org_aaaaaaaaaaaaaaaa",
            names.RELEASE: "3",
            names.RESTART: "2",
        },
        environment={"ROOST_AGENT": agent},
        binds=binds,
        network=NETWORK.name,
        address=address or "10.214.252.2",
        dns=(),
        memory_mb=128,
        cpu_millis=500,
        pids=64,
        tmp_mb=16,
    )


class FakeRig:
    def __init__(self) -> None:
        self.engine: Engine = FakeEngine()
        self.image = "fake"
        self.missing = "fake-missing"
        self.engine.missing_images.add(self.missing)

    def spec(self, image: str = "") -> ContainerSpec:
        return spec(image or self.image)

    def say(self, name: str, *lines: str) -> None:
        for line in lines:
            self.engine.say(name, line)

    def kill_main(self, name: str) -> None:
        self.engine.kill(name)

    def keep_failing(self, name: str) -> None:
        self.engine.back_off(name)

    def stop_failing(self, name: str) -> None:
        pass


class DockerRig:
    def __init__(self, engine: Engine, image: str, folder: Path) -> None:
        self.engine, self.image, self.folder = engine, image, folder
        self.missing = "roost/tests-missing:1"
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM)

    def spec(self, image: str = "") -> ContainerSpec:
        own = self.folder / ids.agent_id()
        own.mkdir()
        own.chmod(0o777)
        binds = (
            Bind(str(own), "/workspace", read_only=False),
            Bind(str(self.program), "/opt/roost/boot.py", read_only=True),
        )
        return spec(image or self.image, binds)

    def _workspace(self, name: str) -> Path:
        mounts = self.engine._api.inspect_container(name)["Mounts"]
        return Path(next(m["Source"] for m in mounts if m["Destination"] == "/workspace"))

    def say(self, name: str, *lines: str) -> None:
        with (self._workspace(name) / "say").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        end = time.monotonic() + 10
        while lines[-1] not in [line.text for line in self.engine.log_tail(name, 5000)]:
            assert time.monotonic() < end, "it did not say it"
            time.sleep(0.02)

    def kill_main(self, name: str) -> None:
        kill_main(self.engine, name)

    def keep_failing(self, name: str) -> None:
        """It ends with 78 again and again, until the engine takes its time to start it."""
        with (self._workspace(name) / "say").open("a") as file:
            file.write("exit 78\n")
        end = time.monotonic() + 15
        while True:
            seen = self.engine.inspect(name)
            if seen.state == "restarting" and seen.restart_count >= 4:
                return
            assert time.monotonic() < end, seen
            time.sleep(0.05)

    def stop_failing(self, name: str) -> None:
        (self._workspace(name) / "say").write_text("")


@contextmanager
def cleared(engine: Engine) -> Iterator[None]:
    def clear() -> None:
        for container in engine.containers(MINE):
            engine.ensure_removed(container.name)

    clear()
    try:
        yield
    finally:
        clear()
