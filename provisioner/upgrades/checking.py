"""What must hold before an agent is touched for an upgrade; each refusal leaves it as it is."""

from controlplane.agents.lifecycle import Goal, Status, spoken
from controlplane.agents.models import Agent, Isolation, Release
from controlplane.agents.releases import release_of
from controlplane.errors import Refusal
from controlplane.keys.vault import VaultUnavailable
from controlplane.upgrades.actions import BEGINS, refuse_failed
from controlplane.upgrades.models import Upgrade
from provisioner import delivery
from provisioner.backend import Backend
from provisioner.drills.resting import why_not_now
from provisioner.upgrades.errors import Refused
from provisioner.workspaces.base import PoolFull

AS_IT_WAS = "The agent was left as it is."
GIBIBYTE = 1024**3


def preflight(backend: Backend, upgrade: Upgrade) -> Agent:
    """The agent as it is. Raises Refused, EngineUnavailable."""
    agent = Agent.objects.select_related("release", "release__key").get(pk=upgrade.agent_id)
    _refuse_unfit(agent)
    current = release_of(agent)
    if current.image != upgrade.from_image:
        raise Refused("changed_meanwhile", f"It runs another image by now. {AS_IT_WAS}")
    _refuse_failed(upgrade)
    _refuse_no_image(backend, upgrade)
    wanted = current if upgrade.back_to is None else agent.releases.get(number=upgrade.back_to)
    _refuse_isolation(backend, wanted)
    _refuse_no_keys(backend, agent, wanted)
    _refuse_full(backend)
    _refuse_in_turn(upgrade)
    return agent


def _refuse_in_turn(upgrade: Upgrade) -> None:
    if upgrade.force:
        return
    why = why_not_now(upgrade.agent, "an upgrade")
    if why is not None:
        reason, said = why
        raise Refused(reason, f"{said} {AS_IT_WAS} Upgrade it later, or force it.")


def is_up(agent: Agent) -> bool:
    return agent.goal == Goal.RUNNING and agent.status == Status.RUNNING


def _refuse_unfit(agent: Agent) -> None:
    if agent.goal == Goal.DELETED:
        raise Refused("deleted", "It was deleted meanwhile.")
    if not agent.settled and agent.status not in BEGINS:
        state = spoken(agent.status)
        said = f"It is {state}. Wait until it runs or is stopped, then upgrade it again."
        raise Refused("not_settled", said)


def _refuse_failed(upgrade: Upgrade) -> None:
    """Others may have failed since it was asked for."""
    try:
        to = (upgrade.to_image, upgrade.to_version)
        refuse_failed(upgrade.agent, *to, force=upgrade.force)
    except Refusal as error:
        raise Refused(error.code, str(error)) from error


def _refuse_no_image(backend: Backend, upgrade: Upgrade) -> None:
    if not backend.engine.has_image(upgrade.to_image):
        said = f"The image {upgrade.to_image} is not on its node. {AS_IT_WAS} "
        todo = "An operator builds the newest with `make images`; older ones are gone for good."
        raise Refused("image_missing", said + todo)


def _refuse_isolation(backend: Backend, wanted: Release) -> None:
    needs = wanted.isolation == Isolation.GVISOR
    if needs and "gvisor" not in backend.engine.isolations():
        raise Refused("isolation_missing", f"Its node does not offer gVisor. {AS_IT_WAS}")


def _refuse_no_keys(backend: Backend, agent: Agent, wanted: Release) -> None:
    """S12: a missing credential is found while the old container still runs."""
    try:
        delivery.read(backend.vault, agent, wanted)
    except delivery.KeyGone as gone:
        raise Refused("key_gone", f"{gone} {AS_IT_WAS}") from gone
    except VaultUnavailable as away:
        raise Refused(away.code, f"Its keys cannot be read: {away} {AS_IT_WAS}") from away


def _refuse_full(backend: Backend) -> None:
    room = backend.workspaces.room()
    if room is not None and room.free < room.reserve:
        raise Refused("pool_full", f"{PoolFull(room.free / GIBIBYTE)} {AS_IT_WAS}")
