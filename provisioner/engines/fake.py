"""An engine in memory: for tests of logic, for scale, and for developing without Docker.

It keeps the promises of base.Engine, counts its calls, and can be told to be silent.
"""

import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from provisioner.engines.base import (
    AddressTaken,
    Apart,
    Bind,
    Build,
    Container,
    ContainerSpec,
    EngineEvent,
    EngineRefused,
    EngineUnavailable,
    Footprint,
    ImageMissing,
    Isolation,
    IsolationMissing,
    LogLine,
    NetworkSpec,
)


class FakeEngine:
    def __init__(self) -> None:
        self.kept: dict[str, Container] = {}
        self.specs: dict[str, ContainerSpec] = {}
        self.kept_networks: dict[str, NetworkSpec] = {}
        self.missing_images: set[str] = set()
        self.strangers: set[str] = set()  # addresses that something else on a network has
        self.offered: tuple[Isolation, ...] = ("default",)
        self.silent = False
        self.calls: list[str] = []
        self.said: dict[str, list[LogLine]] = {}
        self.apart: list[Apart] = []
        self.apart_ends = (0, "")  # how each ends, and what it says
        self.footprints: dict[str, Footprint] = {}
        self._clock = itertools.count(1)
        self._listeners: list[queue.Queue[EngineEvent]] = []
        self._lock = threading.RLock()

    # --- what tests and demonstrations do to it
    def kill(
        self,
        name: str,
        *,
        exit_code: int = 137,
        restarts: bool = True,
        out_of_memory: bool = False,
    ) -> None:
        """The main process ends; the engine starts it again unless `restarts` is false."""
        with self._lock:
            seen = self.kept[name]
            self._tell(seen, "die")
            if restarts:
                self._set(
                    seen,
                    state="running",
                    restart_count=seen.restart_count + 1,
                    exit_code=exit_code,
                    out_of_memory=out_of_memory,
                    started_at=self._tick(),
                )
            else:
                self._set(seen, state="exited", exit_code=exit_code, out_of_memory=out_of_memory)

    def back_off(self, name: str, *, exit_code: int = 78) -> None:
        """It has ended again and again, and the engine takes its time to start it."""
        with self._lock:
            self._set(self.kept[name], state="restarting", restart_count=5, exit_code=exit_code)

    def disconnect(self, name: str) -> None:
        """Somebody took its network away while it runs."""
        with self._lock:
            self._set(self.kept[name], connected=False, address=None)

    def say(self, name: str, text: str) -> None:
        """The agent writes a line to its log."""
        at = f"2026-01-01T00:00:00.{next(self._clock):09d}Z"
        self.said.setdefault(name, []).append(LogLine(at, text))

    def lose(self, name: str) -> None:
        """Somebody removed it behind our back."""
        with self._lock:
            self._tell(self.kept.pop(name), "destroy")

    # --- Engine
    def ping(self) -> str:
        self._called("ping")
        return "fake"

    def isolations(self) -> tuple[Isolation, ...]:
        self._called("isolations")
        return self.offered

    def inspect(self, name: str) -> Container | None:
        self._called("inspect")
        return self.kept.get(name)

    def containers(self, labels: Mapping[str, str]) -> list[Container]:
        self._called("containers")
        with self._lock:
            wanted = labels.items()
            return [
                container
                for name, container in self.kept.items()
                if wanted <= self.specs[name].labels.items()
            ]

    def ensure_network(self, spec: NetworkSpec) -> None:
        self._called("ensure_network")
        other = self.kept_networks.get(spec.name, spec) != spec
        if other and any(self.specs[name].network == spec.name for name in self.kept):
            raise EngineRefused(f"There is another network {spec.name} with containers on it")
        self.kept_networks[spec.name] = spec

    def ensure_network_removed(self, name: str) -> None:
        self._called("ensure_network_removed")
        self.kept_networks.pop(name, None)

    def networks(self, labels: Mapping[str, str]) -> list[str]:
        self._called("networks")
        return [
            name
            for name, spec in self.kept_networks.items()
            if labels.items() <= spec.labels.items()
        ]

    def ensure_created(self, spec: ContainerSpec) -> None:
        self._called("ensure_created")
        if spec.image in self.missing_images:
            raise ImageMissing(spec.image)
        if spec.isolation not in self.offered:
            raise IsolationMissing
        if spec.network not in self.kept_networks:
            raise EngineRefused(f"There is no network {spec.network}.")
        with self._lock:
            if spec.name in self.kept:
                return
            self.specs[spec.name] = spec
            self.kept[spec.name] = Container(
                id=f"fake{next(self._clock):08d}",
                name=spec.name,
                agent_id=spec.labels["roost.agent"],
                release=int(spec.labels["roost.release"]),
                restart=int(spec.labels["roost.restart"]),
                state="created",
                address=spec.address,
                organisation_id=spec.labels["roost.organisation"],
                image=spec.image,
                memory_mb=spec.memory_mb,
                settings=spec.environment.get("ROOST_SETTINGS", ""),
            )

    def ensure_started(self, name: str) -> None:
        self._called("ensure_started")
        with self._lock:
            seen = self.kept.get(name)
            if seen is None:
                return
            if not seen.up and seen.address in self.strangers:
                raise AddressTaken(f"{seen.address} is in use.")
            if not seen.up:
                self._set(seen, state="running", started_at=self._tick(), restart_count=0)
                self._tell(seen, "start")
            elif seen.state == "paused":
                self._set(seen, state="running")

    def nudge(self, name: str) -> None:
        self._called("nudge")
        with self._lock:
            if seen := self.kept.get(name):
                self._set(seen, state="running", started_at=self._tick(), restart_count=0)

    def kill_main(self, name: str) -> None:
        self._called("kill_main")
        if (seen := self.kept.get(name)) is not None and seen.state == "running":
            self.kill(name)

    def ensure_stopped(self, name: str, grace: int) -> None:
        self._called("ensure_stopped")
        with self._lock:
            seen = self.kept.get(name)
            if seen is not None and seen.state in {"running", "paused", "restarting"}:
                self._set(seen, state="exited", exit_code=143)
                self._tell(seen, "die")

    def ensure_removed(self, name: str) -> None:
        self._called("ensure_removed")
        with self._lock:
            seen = self.kept.pop(name, None)
            if seen is not None:
                self._tell(seen, "destroy")

    def has_image(self, reference: str) -> bool:
        self._called("has_image")
        return reference not in self.missing_images

    def import_image(self, reference: str, tarball: str, labels: Mapping[str, str]) -> None:
        self._called("import_image")
        self.missing_images.discard(reference)

    def build_image(self, build: Build, say: Callable[[str], None]) -> None:
        self._called("build_image")
        self.missing_images.discard(build.reference)

    def run_helper(self, image: str, argv: list[str], binds: tuple[Bind, ...]) -> None:
        self._called("run_helper")

    def run_apart(self, apart: Apart, patience: int) -> tuple[int, str]:
        self._called("run_apart")
        self.apart.append(apart)
        return self.apart_ends

    def footprint(self, name: str, image: str) -> Footprint:
        self._called("footprint")
        return self.footprints.get(name, Footprint(why_not="The engine is in memory."))

    def log_tail(self, name: str, lines: int) -> list[LogLine]:
        self._called("log_tail")
        return self.said.get(name, [])[-lines:] if name in self.kept else []

    def log_follow(self, name: str, since: str) -> Iterator[LogLine]:
        """What was said until now; it does not wait for more."""
        self._get(name)
        yield from [line for line in self.said.get(name, []) if line.at > since]

    def events(self, labels: Mapping[str, str], since: int) -> Iterator[EngineEvent]:
        self._called("events")
        listener: queue.Queue[EngineEvent] = queue.Queue()
        self._listeners.append(listener)
        try:
            while not self.silent:
                try:
                    yield listener.get(timeout=0.1)
                except queue.Empty:
                    continue
        finally:
            self._listeners.remove(listener)

    # --- inside
    def _called(self, verb: str) -> None:
        self.calls.append(verb)
        if self.silent:
            raise EngineUnavailable("The fake engine was told to be silent.")

    def _get(self, name: str) -> Container:
        if name not in self.kept:
            raise EngineRefused(f"There is no container {name}.")
        return self.kept[name]

    def _set(self, seen: Container, **changes: Any) -> None:
        self.kept[seen.name] = replace(seen, **changes)

    def _tick(self) -> str:
        return f"t{next(self._clock):08d}"

    def _tell(self, container: Container, action: str) -> None:
        for listener in self._listeners:
            listener.put(EngineEvent(container.agent_id, action, 0))
