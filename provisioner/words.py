"""What people read about an agent's state: what happened, why, and what to do."""

import json

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent
from controlplane.naming import mask
from provisioner.engines.base import Container, LogLine
from provisioner.plan import CRASH_WINDOW, SHIM_REFUSED, Seen, Wish
from runtimes.catalog import Runtime

MINUTES = CRASH_WINDOW // 60
MOST_SAID, MOST_READ = 160, 1000  # characters
SHIM = {
    "workspace_missing": "its workspace was not mounted",
    "workspace_foreign": "the disk in its place belongs to another agent",
    "workspace_unwritable": "it may not write to its workspace",
    "workspace_full": "its disk is full",
    "config_unwritable": "its configuration could not be written on its node",
    "keys_missing": "its keys were not there",
    "settings_invalid": "its settings do not fit the runtime",
    "image_unfit": "its image could not be started",
}


def cause_of_end(container: Container, memory_mb: int) -> str:
    """Why a container ended, as the engine tells it."""
    if container.out_of_memory and container.exit_code in {137, 0}:
        return f"it ran out of memory at its limit of {memory_mb} MB"
    if container.up and container.exit_code == 0:
        # Docker forgets how the last life ended as soon as the next one begins.
        return "it was up again before its reason could be read"
    if container.exit_code == SHIM_REFUSED:
        return "the boot check refused it"
    if container.exit_code == 137:
        return "it was killed (signal 9)"
    if container.exit_code > 128:
        return f"it was ended by signal {container.exit_code - 128}"
    return f"its main process ended with exit code {container.exit_code}"


def crash_looping(container: Container | None, memory_mb: int, log: list[LogLine]) -> str:
    cause = cause_of_end(container, memory_mb) if container else "it was removed again and again"
    refused = shim_refusal(log)
    if container and container.exit_code == SHIM_REFUSED and refused:
        cause = refused
    todo = "Look at its log, change what is wrong, then start it."
    if container and container.out_of_memory:
        todo = "Choose a larger size in its settings, then start it."
    elif log:
        cause += f". It last said: {said(log[-1].text)!r}"
    return f"It ended again and again within {MINUTES} minutes; the last time {cause}. {todo}"


def settings_unfit(log: list[LogLine]) -> str:
    why = shim_refusal(log) or SHIM["settings_invalid"]
    return f"It cannot start: {why}. Change its settings, then start it; its workspace is kept."


def shim_refusal(log: list[LogLine]) -> str:
    """What the boot shim said, in our words; empty when it said nothing."""
    code, message = refusal(log)
    return f"{SHIM.get(code, 'the boot check refused it')} ({said(message)})" if code else ""


def refusal(log: list[LogLine]) -> tuple[str, str]:
    """Code and message of the boot shim's last refusal, both empty when it said nothing."""
    for line in reversed(log):
        if '"roost"' not in line.text:
            continue
        try:
            told = json.loads(line.text)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("roost") == "boot":
            return str(told.get("code")), str(told.get("message", ""))
    return "", ""


def said(text: str) -> str:
    """An agent's own words, cut. They are stored and shown to all of its organisation, and a
    program that dies may print its key; masked before the cut, which may leave half a key."""
    return mask(text[:MOST_READ])[:MOST_SAID]


HEALS = "It is put right by itself; nothing in its workspace is lost."


def meddled_with(agent: Agent, wish: Wish, seen: Seen) -> str:
    """What somebody else did to an agent that was up, past us; empty where nobody did."""
    was_up = agent.status in {Status.RUNNING, Status.DEGRADED} and not wish.changed
    if not was_up or wish.goal != Goal.RUNNING:
        return ""
    container = seen.container
    if container is None:
        return "Its container was removed, not by Roost"
    if container.state == "paused":
        return "Its container was paused, not by Roost"
    if container.state == "running" and not container.connected:
        return "Its network was taken away, not by Roost"
    if container.state == "running" and not seen.keyed:
        return "Its keys' place in memory was taken away, not by Roost"
    return ""


def start_timed_out(runtime: Runtime) -> str:
    return (
        f"{runtime.title} did not answer within {runtime.start_deadline_s} s of its start and was "
        "stopped; its workspace is kept. Look at its log, then start it again."
    )


def set_up_timed_out(runtime: Runtime) -> str:
    return (
        f"{runtime.title} came up, but its first run did not succeed within "
        f"{runtime.start_deadline_s} s, so it was stopped; its workspace is kept. Look at its log, "
        "then start it again."
    )


TIMED_OUT = {
    "stop_timed_out": "It could not be stopped in time. It is tried again when you ask again.",
    "delete_timed_out": "It could not be removed in time. Delete it again, or ask your operator.",
}
NOT_ANSWERING = (
    "The process is up, but does not answer. A restart takes a few seconds and keeps the workspace."
)


def starting(runtime: Runtime) -> str:
    return (
        f"{runtime.title} usually answers within {runtime.start_usual_s:.0f} s and may take "
        f"{runtime.start_deadline_s} s."
    )
