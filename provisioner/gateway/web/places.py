"""Where an agent's web UI listens, and the headers that sign a request in there."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.agents.addresses import web_host, web_origin
from controlplane.agents.errors import AgentNotRunning
from controlplane.agents.models import Agent
from provisioner.backend import get_backend
from provisioner.gateway.door import TALKING, GatewayProblem
from provisioner.gateway.web.refusals import WebRefusal
from provisioner.look import target
from runtimes.adapter import Endpoint, RuntimeProblem
from runtimes.capped import capped_client
from runtimes.catalog import CATALOG
from runtimes.web import WebUI, load_web

COMING = {"pending", "starting", "restarting", "waiting", "unknown"}
MOST_ANSWER = 8 * 1024 * 1024  # bytes, while signing in
# A UI that sleeps when nobody needs it learns from each sign-in that somebody does.
FRESH = 600.0  # seconds
PATIENCE = 180.0  # seconds a UI may take to come up


@dataclass(frozen=True)
class Place:
    agent: Agent
    ui: WebUI
    endpoint: Endpoint = field(repr=False)
    address: str
    port: int

    @property
    def base_url(self) -> str:
        return f"http://{self.address}:{self.port}"

    @property
    def origin(self) -> str:
        return web_origin(self.agent.pk)

    @property
    def host(self) -> str:
        return web_host(self.agent.pk)

    @property
    def life(self) -> tuple[str, ...]:
        """Changes when what was agreed with its UI is void."""
        return (self.agent.life, self.address, self.endpoint.token)


def place_of(agent: Agent) -> Place:
    """Raises GatewayProblem 404, 409."""
    runtime = CATALOG.get(agent.runtime)
    ui = load_web(runtime) if runtime else None
    if runtime is None or runtime.web is None or ui is None:
        title = runtime.title if runtime else agent.runtime
        raise WebRefusal(
            404,
            "no_web_ui",
            "There is no web UI here",
            f"{title} has none of its own. Talk to {agent.name} in the dashboard.",
            agent=agent,
        )
    found = target(get_backend(), agent)
    if agent.status not in TALKING or found is None:
        raise WebRefusal(
            409,
            "agent_not_running",
            f"{agent.name} does not run now",
            str(AgentNotRunning(agent.name, agent.status)),
            agent=agent,
            again=5 if agent.status in COMING else 0,
        )
    return Place(agent, ui, found.endpoint, found.address, runtime.web.port)


@dataclass(frozen=True)
class _SignIn:
    life: tuple[str, ...]
    made: float
    task: asyncio.Task[Mapping[str, str]]

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.made > FRESH

    def is_over(self, place: Place, bad: Mapping[str, str] | None) -> bool:
        if self.life != place.life:
            return True
        if not self.task.done():
            return False
        return self.is_old or self.task.exception() is not None or self.task.result() is bad


class SignIns:
    """One sign-in per agent, whoever asks, kept in memory only."""

    def __init__(self) -> None:
        self._known: dict[str, _SignIn] = {}

    async def headers(
        self, place: Place, patience: float = PATIENCE, *, bad: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        """`bad` ones are good no more, as its UI says. Raises GatewayProblem 502, 503."""
        known = self._known.get(place.agent.pk)
        if known is None or known.is_over(place, bad):
            known = _SignIn(place.life, time.monotonic(), asyncio.create_task(_sign_in(place)))
            known.task.add_done_callback(_heard)
            self._known = {k: v for k, v in self._known.items() if not v.is_old}
            self._known[place.agent.pk] = known
        done, _ = await asyncio.wait({known.task}, timeout=patience)
        if not done:
            raise _starting(place.agent)
        try:
            return known.task.result()
        except (RuntimeProblem, TimeoutError) as error:
            raise unreachable(place.agent) from error


def _heard(task: asyncio.Task[Mapping[str, str]]) -> None:
    """Nobody may be waiting any more: an error is then nobody's."""
    if not task.cancelled():
        task.exception()


async def _sign_in(place: Place) -> Mapping[str, str]:
    async with asyncio.timeout(PATIENCE), capped_client(MOST_ANSWER) as client:
        return dict(await place.ui.sign_in(client, place.endpoint, place.base_url, place.origin))


def _starting(agent: Agent) -> GatewayProblem:
    return WebRefusal(
        503,
        "web_ui_starting",
        "The web UI is coming up",
        f"{agent.name} starts it when somebody wants it, which takes some seconds. "
        "This page goes on by itself.",
        agent=agent,
        again=2,
    )


def unreachable(agent: Agent) -> GatewayProblem:
    return WebRefusal(
        502,
        "web_ui_unreachable",
        "The web UI does not answer",
        f"{agent.name} runs, but its own web UI does not come up. Try again in a moment; if that "
        "does not help, restart the agent. You can go on talking to it in the dashboard.",
        agent=agent,
    )
