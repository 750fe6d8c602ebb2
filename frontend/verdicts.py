"""What the top of an agent's page says: what happened, why, and what to do about it."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, DiskLevel
from controlplane.agents.sizes import SIZES, Size
from frontend.looks import HELD, Look, look_of
from provisioner import report

# What a timeline tells as it happens, said of a state that lasts.
TITLES = report.TITLES | {
    Status.PENDING: "Queued",
    Status.DEGRADED: "Degraded: up, but not answering",
    Status.RESTARTING: "Restarting",
    Status.CRASH_LOOPING: "Crash looping",
    Status.UNKNOWN: "Unknown: its node does not report",
}
# Where the reason says more than the status does.
REASONS = {
    (Status.WAITING, "key_gone"): "Waiting: a key or secret of it is gone",
    (Status.FAILED, "settings_unfit"): "Failed: its settings do not fit",
    (Status.STARTING, "set_up_failed"): "Starting: its first run is tried again",
    (Status.RESTARTING, "set_up_failed"): "Restarting: its set-up is tried again",
    (Status.WAITING, "isolation_missing"): "Waiting for an isolation its node has not",
    (Status.FAILED, "isolation_missing"): "Failed: its node has not this isolation",
}
# Waiting that ends only once people change something.
ASKS_PEOPLE = {"key_gone", "isolation_missing"}
# For the moment in which the worker has said nothing yet.
WHYS = {
    Status.PENDING: "A worker takes it up in a moment. You can leave this page; it goes on.",
    Status.STARTING: "It counts as running once it has answered.",
    Status.RESTARTING: "It keeps its workspace.",
    Status.STOPPING: "It gets a moment to finish what it is writing.",
    Status.STOPPED: "Its workspace is kept. Start it whenever you need it.",
}
DECISIONS = {Status.DEGRADED, Status.SUSPENDED, Status.CRASH_LOOPING, Status.FAILED}
CALM = {Status.RUNNING, Status.DEGRADED, Status.RESTARTING, Status.STARTING, Status.UNKNOWN}
DOWN = {Status.STOPPED, Status.SUSPENDED, Status.FAILED, Status.CRASH_LOOPING}


@dataclass(frozen=True)
class Button:
    """A POST of `verb`, or a link to the agent's tab `tab` or to the page Keys."""

    label: str
    verb: str = ""
    tab: str = ""
    icon: str = ""
    primary: bool = False
    value: str = ""  # what the verb needs to know: a size


@dataclass(frozen=True)
class Verdict:
    look: Look
    title: str
    why: str
    buttons: tuple[Button, ...] = ()
    since: datetime | None = None  # ends the title


def status_of(agent: Agent) -> str:
    """What to show: a wish that no worker has seen yet is under way already, and who waits for
    its turn to start is queued."""
    if agent.observed_generation >= agent.generation:
        return Status.PENDING if _queued(agent) else agent.status
    if agent.goal == Goal.RUNNING and agent.status in DOWN:
        return Status.PENDING
    if agent.goal == Goal.STOPPED and agent.status in CALM:
        return Status.STOPPING
    number = agent.release.number if agent.release else 0
    if agent.goal == Goal.RUNNING and agent.status in CALM and number > agent.observed_release:
        return Status.RESTARTING
    return agent.status


def needs(agent: Agent) -> bool:
    """Whether it waits for a person to decide."""
    return decides(status_of(agent), agent.reason)


def decides(status: str, reason: str) -> bool:
    return status in DECISIONS or (status == Status.WAITING and reason in ASKS_PEOPLE)


def _queued(agent: Agent) -> bool:
    return agent.status == Status.WAITING and agent.reason == "boot_queue"


def verdict_of(agent: Agent, may_write: bool) -> Verdict:
    status = status_of(agent)
    # A message belongs to the status the worker wrote, not to the wish that came after it.
    seen = status == agent.status
    why = agent.message if seen or _queued(agent) else ""
    title = REASONS.get((Status(status), agent.reason)) if seen else None
    return Verdict(
        look_of(status),
        title or TITLES.get(Status(status), status),
        why or WHYS.get(Status(status), ""),
        _buttons(agent, status) if may_write else (),
    )


def held(agent: Agent, since: datetime | None, may_write: bool) -> Verdict:
    """A queued agent whose node has been silent since then, or for ever."""
    title = "its node has not reported since" if since else "its node has never reported"
    return Verdict(
        HELD,
        f"Queued: {title}",
        f"It is taken up when {agent.node} is back. You can leave this page; nothing is lost.",
        _buttons(agent, Status.PENDING) if may_write else (),
        since,
    )


def _buttons(agent: Agent, status: str) -> tuple[Button, ...]:
    log = Button("See the log", tab="logs")
    settings = Button("Open settings", tab="settings", icon="gear", primary=True)
    reason = agent.reason if status == agent.status else ""
    match status:
        case Status.WAITING if reason == "key_gone":
            return (settings, Button("Open keys", tab="keys"))
        case Status.WAITING | Status.FAILED if reason == "isolation_missing":
            return (settings,)
        case Status.FAILED if reason == "settings_unfit":
            return (settings, log)
        case Status.STARTING | Status.RESTARTING if reason == "set_up_failed":
            return (Button("Cancel", "stop"), log)
        case Status.DEGRADED:
            return (Button("Restart now", "restart", icon="restart", primary=True), log)
        case Status.CRASH_LOOPING | Status.FAILED if _disk_full(agent):
            return (settings, Button("Try again as it is", "start"), log)
        case Status.CRASH_LOOPING if reason == "out_of_memory" and (size := _larger(agent)):
            return (_resize(size), Button("Try again as it is", "start"))
        case Status.CRASH_LOOPING | Status.FAILED:
            return (Button("Start again", "start", icon="play", primary=True), log)
        case Status.STOPPED | Status.SUSPENDED:
            return (Button("Start", "start", icon="play", primary=True),)
        case Status.PENDING | Status.STARTING:
            return (Button("Cancel", "stop"),)
    return ()


def _disk_full(agent: Agent) -> bool:
    return agent.disk_level == DiskLevel.FULL and agent.quota_enforcement != "advisory"


def _resize(size: Size) -> Button:
    label = f"Resize to {size.title} and start"
    return Button(label, "resize", value=size.slug, primary=True)


def _larger(agent: Agent) -> Size | None:
    """The next size up."""
    has = agent.release.memory_mb if agent.release else 0
    return next((size for size in SIZES.values() if size.memory_mb > has), None)
