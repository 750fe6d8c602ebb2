"""Waiting until a program answers, and saying why when it does not."""

import time
from collections.abc import Callable

import httpx

from deploy.local.errors import ProgramFailed
from deploy.local.layout import Installation
from deploy.local.report import step
from deploy.local.supervisor import Supervisor, last_line

READY_S = 90
Problem = Callable[[], str | None]


def wait(installation: Installation, supervisor: Supervisor, name: str, problem: Problem) -> None:
    """Print `name ready`, or raise with what it last wrote."""
    with step(f"{name} ready"):
        deadline = time.monotonic() + READY_S
        while why := _problem(supervisor, name, problem):
            if time.monotonic() > deadline:
                log = installation.log_dir / f"{name}.log"
                said = last_line(log)
                raise ProgramFailed(
                    f"{name} is not ready after {READY_S} s ({why})"
                    f"{f'; it last wrote: {said}' if said else ''}.",
                    f"Read {log}, then run the command again.",
                )
            time.sleep(0.05)


def _problem(supervisor: Supervisor, name: str, problem: Problem) -> str | None:
    # A stranger may answer on the port: the program itself has to run as well.
    state = supervisor.states().get(name)
    if state is None or state.name != "RUNNING":
        return f"it is {state.name.lower()}" if state else "the supervisor does not answer"
    return problem()


def answers(url: str) -> Problem:
    """Ready when a request gets an answer that is not a server error."""

    def problem() -> str | None:
        try:
            status = httpx.get(url, timeout=5, trust_env=False).status_code
        except httpx.HTTPError as error:
            return str(error) or type(error).__name__
        return None if status < 500 else f"{url} answers {status}"

    return problem


def runs() -> str | None:
    """For a program that answers to nobody: the supervisor's word is enough."""
    return None
