"""What people read about an agent's state: what happened, why, and what to do."""

import json

from controlplane.naming import mask
from provisioner.engines.base import Container, LogLine
from provisioner.plan import CRASH_WINDOW, SHIM_REFUSED
from runtimes.catalog import Runtime

MINUTES = CRASH_WINDOW // 60
MOST_SAID, MOST_READ = 160, 1000  # characters
SHIM = {
    "workspace_missing": "its workspace was not mounted",
    "workspace_foreign": "the disk in its place belongs to another agent",
    "workspace_unwritable": "it may not write to its workspace",
    "keys_missing": "its keys were not there",
    "settings_invalid": "its settings do not fit the runtime",
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
        cause += f". It last said: {_said(log[-1].text)!r}"
    return f"It ended again and again within {MINUTES} minutes; the last time {cause}. {todo}"


def shim_refusal(log: list[LogLine]) -> str:
    """What the boot shim said, in our words; empty when it said nothing."""
    for line in reversed(log):
        if '"roost"' not in line.text:
            continue
        try:
            said = json.loads(line.text)
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("roost") == "boot":
            code, message = str(said.get("code")), str(said.get("message", ""))
            return f"{SHIM.get(code, 'the boot check refused it')} ({_said(message)})"
    return ""


def _said(text: str) -> str:
    """An agent's own words, cut. They are stored and shown to all of its organisation, and a
    program that dies may print its key; masked before the cut, which may leave half a key."""
    return mask(text[:MOST_READ])[:MOST_SAID]


def start_timed_out(runtime: Runtime) -> str:
    return (
        f"{runtime.title} did not answer within {runtime.start_deadline_s} s of its start and was "
        "stopped; its workspace is kept. Look at its log, then start it again."
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
