"""Docker Engine. Nothing else in the project imports its SDK.

Facts this file rests on, found by trying (Docker 20.10): the engine restarts what it runs
under `unless-stopped`, but never after `docker kill`; a stop must first set the policy to
`no`; a lost engine ends streams without an exception; setting up an endpoint is serialised
in the engine, so starts are bounded here; a restart of the engine may leave a container's task
behind (one in some sixty did), and under its id it never starts again.
"""

import contextlib
import io
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound, NotFound

from provisioner.engines import processes
from provisioner.engines.base import (
    AddressTaken,
    Apart,
    Bind,
    Build,
    Container,
    ContainerSpec,
    EngineEvent,
    EngineRefused,
    Footprint,
    ImageMissing,
    Isolation,
    IsolationMissing,
    LogLine,
    NetworkSpec,
)
from provisioner.engines.docker_apart import run_apart
from provisioner.engines.docker_footprint import footprint
from provisioner.engines.docker_logs import engine_time, pieces, whole_lines
from provisioner.engines.docker_reading import container, filters, summary, translated
from provisioner.engines.docker_spec import (
    RUNSC,
    container_arguments,
    helper_arguments,
    is_network,
    network_arguments,
    network_shape,
)

log = logging.getLogger(__name__)

TIMEOUT = 30  # seconds for one call; stops add their grace
SILENCE = 15  # seconds without a line before a follower looks up
STARTS_AT_ONCE = 3
KEEP_UP = {"Name": "unless-stopped"}
STAY_DOWN = {"Name": "no"}
ADDRESS_TAKEN = "Address already in use"  # docker says it in no other way
TASK_LEFT = re.compile(r"\btask [0-9a-f]{64}: already exists")  # so is this


class DockerEngine:
    """Threads may share it: the SDK's HTTP pool is made for that."""

    def __init__(self) -> None:
        self._starts = threading.BoundedSemaphore(STARTS_AT_ONCE)

    @cached_property
    def _api(self) -> Any:
        with translated():
            where = docker.utils.kwargs_from_env()  # DOCKER_HOST and its certificates
            return docker.APIClient(version="auto", timeout=TIMEOUT, num_pools=32, **where)

    @cached_property
    def _cores(self) -> int:
        return int(self._api.info()["NCPU"])

    @translated()
    def ping(self) -> str:
        return str(self._api.version()["Version"])

    @translated()
    def isolations(self) -> tuple[Isolation, ...]:
        # Asked anew each time: a daemon learns of a runtime without being started again.
        return ("default", "gvisor") if RUNSC in self._api.info()["Runtimes"] else ("default",)

    @translated()
    def inspect(self, name: str) -> Container | None:
        try:
            seen = self._api.inspect_container(name)
        except NotFound:
            return None
        return container(seen)

    @translated()
    def containers(self, labels: Mapping[str, str]) -> list[Container]:
        rows = self._api.containers(all=True, filters=filters(labels))
        return [summary(row) for row in rows]

    @translated()
    def ensure_network(self, spec: NetworkSpec) -> None:
        with contextlib.suppress(NotFound):
            seen = self._api.inspect_network(spec.name)
            if is_network(seen, spec):
                return
            if seen["Containers"]:
                raise EngineRefused(
                    f"There is another network {spec.name} ({network_shape(seen)}) with containers "
                    "on it. An operator must look whose they are, and remove it"
                )
            self._api.remove_network(spec.name)
        try:
            self._api.create_network(**network_arguments(spec))
        except APIError as error:
            if error.status_code != 409:  # another worker made it meanwhile
                raise

    @translated()
    def ensure_network_removed(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            self._api.remove_network(name)

    @translated()
    def networks(self, labels: Mapping[str, str]) -> list[str]:
        return [row["Name"] for row in self._api.networks(filters=filters(labels))]

    @translated()
    def ensure_created(self, spec: ContainerSpec) -> None:
        if spec.isolation != "default" and spec.isolation not in self.isolations():
            raise IsolationMissing
        try:
            self._api.create_container(**container_arguments(self._api, spec, self._cores))
        except ImageNotFound as error:
            raise ImageMissing(spec.image) from error
        except APIError as error:
            if error.status_code != 409:  # the name is taken: it is there
                raise

    @translated()
    def ensure_started(self, name: str) -> None:
        with self._gone_meanwhile(name):
            self._start(name)

    def _start(self, name: str) -> None:
        seen = self._api.inspect_container(name)
        if seen["HostConfig"]["RestartPolicy"]["Name"] != KEEP_UP["Name"]:
            self._api.update_container(name, restart_policy=KEEP_UP)
        if seen["State"]["Paused"]:
            self._api.unpause(name)
        with self._starts:
            try:
                self._api.start(name)
            except NotFound:
                self._connect_again(name, seen)
                self._api.start(name)
            except APIError as error:
                if ADDRESS_TAKEN in str(error.explanation):
                    raise AddressTaken(str(error.explanation)) from error
                raise

    def _connect_again(self, name: str, seen: Mapping[str, Any]) -> None:
        """It knows its network by an id; one that was removed and made anew has another."""
        for network, endpoint in seen["NetworkSettings"]["Networks"].items():
            self._api.disconnect_container_from_network(name, network, force=True)
            address = (endpoint["IPAMConfig"] or {}).get("IPv4Address")
            self._api.connect_container_to_network(name, network, ipv4_address=address)

    @translated()
    def nudge(self, name: str) -> None:
        with self._gone_meanwhile(name), self._starts:
            self._api.restart(name, timeout=0)

    @contextlib.contextmanager
    def _gone_meanwhile(self, name: str) -> Iterator[None]:
        """Removed, or being removed, between our look and our act: the next look will see it. Not
        found may also be its network; that is told, or we would try for ever. What a restart of the
        engine left of it keeps it from ever starting again: then it is removed, to be made anew."""
        try:
            yield
        except APIError as error:
            if TASK_LEFT.search(str(error.explanation)):
                log.warning("%s cannot start any more, it is made anew: %s", name, error)
                self._api.remove_container(name, force=True, v=False)
                return
            seen = self.inspect(name) if error.status_code in {404, 409} else None
            gone = seen is None or seen.state == "dead"
            if error.status_code not in {404, 409} or not gone:
                raise

    @translated()
    def kill_main(self, name: str) -> None:
        # By its host's process id: what `docker kill` ends, the engine does not start again.
        with contextlib.suppress(NotFound):
            state = self._api.inspect_container(name)["State"]
            if state["Running"] and state["Pid"]:
                processes.kill_main(state["Pid"])

    @translated()
    def ensure_stopped(self, name: str, grace: int) -> None:
        with contextlib.suppress(NotFound):
            seen = self._api.inspect_container(name)
            # gVisor's runtime cannot change what runs; until then `unless-stopped` must do.
            late = seen["HostConfig"]["Runtime"] == RUNSC
            if not late:
                self._keep_down(name)
            if seen["State"]["Paused"]:
                self._api.unpause(name)
            self._api.stop(name, timeout=grace)
            if late:
                self._keep_down(name)

    def _keep_down(self, name: str) -> None:
        """In the moment in which one ends, the engine refuses to change it."""
        for tries_left in reversed(range(20)):
            try:
                self._api.update_container(name, restart_policy=STAY_DOWN)
                return
            except APIError as error:
                if "stopped container" not in str(error.explanation) or not tries_left:
                    raise
            time.sleep(0.1)

    @translated()
    def ensure_removed(self, name: str) -> None:
        try:
            self._api.remove_container(name, force=True, v=False)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != 409:  # its removal is already under way
                raise
            self._wait_until_gone(name)

    def _wait_until_gone(self, name: str) -> None:
        for _ in range(100):
            if self.inspect(name) is None:
                return
            time.sleep(0.1)
        raise EngineRefused(f"The engine has been removing {name} for 10 s.")

    @translated()
    def has_image(self, reference: str) -> bool:
        try:
            self._api.inspect_image(reference)
        except ImageNotFound:
            return False
        return True

    @translated()
    def import_image(self, reference: str, tarball: str, labels: Mapping[str, str]) -> None:
        repository, tag = reference.rsplit(":", 1)
        changes = [f'LABEL {name}="{value}"' for name, value in labels.items()]
        self._api.import_image_from_file(tarball, repository=repository, tag=tag, changes=changes)

    @translated()
    def build_image(self, build: Build, say: Callable[[str], None]) -> None:
        lines = self._api.build(
            fileobj=io.BytesIO(build.context_tar),
            custom_context=True,
            tag=build.reference,
            buildargs=dict(build.args),
            labels=dict(build.labels),
            network_mode="default" if build.network else "none",
            rm=True,
            forcerm=True,
            decode=True,
            timeout=1800,
        )
        for line in lines:
            if "error" in line:
                raise EngineRefused(str(line["error"]))
            if text := str(line.get("stream", "")).strip():
                say(text)

    @translated()
    def run_helper(self, image: str, argv: list[str], binds: tuple[Bind, ...]) -> None:
        created = self._api.create_container(**helper_arguments(self._api, image, argv, binds))
        try:
            self._api.start(created["Id"])
            code = self._api.wait(created["Id"], timeout=TIMEOUT)["StatusCode"]
            if code:
                text = self._api.logs(created["Id"], tail=3).decode(errors="replace")
                raise EngineRefused(f"The helper ended with {code}: {text}")
        finally:
            self._api.remove_container(created["Id"], force=True)

    @translated()
    def run_apart(self, apart: Apart, patience: int) -> tuple[int, str]:
        if not self.has_image(apart.image):
            raise ImageMissing(apart.image)
        self.ensure_removed(apart.name)  # of one who was killed
        return run_apart(self._api, apart, self._cores, patience)

    @translated()
    def footprint(self, name: str, image: str) -> Footprint:
        return footprint(self._api, name, image)

    @translated()
    def log_tail(self, name: str, lines: int) -> list[LogLine]:
        try:
            return list(self._log(name, {"tail": lines}, TIMEOUT))[-lines:]
        except NotFound:
            return []

    def log_follow(self, name: str, since: str) -> Iterator[LogLine]:
        # The SDK rounds `since` to a float, which repeats or loses lines; the text is exact.
        query = {"since": engine_time(since)} if since else {"tail": "all"}
        with translated():
            # A silent log ends here now and then, so that a reader who has gone is let go.
            for line in self._log(name, {**query, "follow": 1}, SILENCE):
                if line.at != since:
                    yield line

    def _log(self, name: str, query: Mapping[str, object], timeout: float) -> Iterator[LogLine]:
        url = self._api._url("/containers/{0}/logs", name)
        query = {**query, "stdout": 1, "stderr": 1, "timestamps": 1}
        response = self._api._get(url, params=query, stream=True, timeout=timeout)
        self._api._raise_for_status(response)
        return whole_lines(pieces(response))

    def events(self, labels: Mapping[str, str], since: int) -> Iterator[EngineEvent]:
        with translated():
            wanted = filters(labels) | {"type": "container"}
            for row in self._api.events(since=since, filters=wanted, decode=True):
                agent_id = row["Actor"]["Attributes"].get("roost.agent", "")
                yield EngineEvent(agent_id, row["Action"], row["time"])
