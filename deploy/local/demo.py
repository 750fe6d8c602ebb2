"""The demo organisation: made once, remembered in var/local.json, waited for until it answers."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import httpx

from deploy.local import commands, files
from deploy.local.credentials import ADMIN_EMAIL
from deploy.local.errors import CommandFailed, ProgramFailed
from deploy.local.report import step
from deploy.local.stack import Stack

RUNTIME = "hermes"  # of the demo agent: its image is needed before there is anything to see
RUNNING_S = 240
NAMES = ("org", "token", "agent")


def ensure(stack: Stack) -> dict[str, str]:
    """What local.json holds; the demo is made unless the file's token still finds its agent."""
    path = stack.installation.state_dir / "local.json"
    known = files.read_json(path)
    if all(isinstance(known.get(name), str) for name in NAMES):
        facts = {name: str(known[name]) for name in NAMES}
        if _agent(stack.installation.url, facts) is not None:
            return _write(path, stack, facts)
    with step("demo organisation"):
        log = stack.installation.log_dir / "commands.log"
        printed = commands.manage(["seed_demo"], stack.seed_environment(), log, secret=True)
        facts = _facts(printed, known, log)
    return _write(path, stack, facts)


def wait_running(stack: Stack, facts: Mapping[str, str], seconds: float = RUNNING_S) -> str:
    """Until the demo agent answers; on time-out say the agent's own reason.

    Returns a note: an agent that people stopped on purpose is not waited for.
    """
    deadline = time.monotonic() + seconds
    agent: dict[str, object] | None = None
    while time.monotonic() < deadline:
        agent = _agent(stack.installation.url, facts)
        if agent and agent.get("goal", "running") != "running":
            return f"left {agent.get('goal')}, as it was told"
        # Just after a start the status may be of the time before: only an answer is proof.
        if agent and agent.get("status") == "running" and _answers(stack.installation.url, facts):
            return ""
        time.sleep(0.3)
    status = agent.get("status", "unknown") if agent else "unknown"
    why = agent.get("message") or agent.get("reason") if agent else "the API did not show it"
    said = f"it is {status}: {why or 'no reason given'}"
    raise ProgramFailed(
        f"The demo agent does not answer after {seconds:.0f} s; {said}.",
        f"Read {stack.installation.log_dir}/node.log and worker.log, then run `make up` again.",
    )


def _agent(url: str, facts: Mapping[str, str]) -> dict[str, object] | None:
    return _get(url, facts, "")


def _answers(url: str, facts: Mapping[str, str]) -> bool:
    """The agent itself is asked for what was said, through the gateway."""
    return _get(url, facts, "/messages") is not None


def _get(url: str, facts: Mapping[str, str], rest: str) -> dict[str, object] | None:
    address = f"{url}/api/v1/orgs/{facts['org']}/agents/{facts['agent']}{rest}"
    bearer = {"Authorization": f"Bearer {facts['token']}"}
    try:
        answer = httpx.get(address, headers=bearer, timeout=10, trust_env=False)
        body = answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None
    return cast("dict[str, object]", body) if isinstance(body, dict) else None


def _facts(printed: str, known: Mapping[str, object], log: Path) -> dict[str, str]:
    """The command's last line is JSON; a token it cannot show again is the one we know."""
    try:
        told = json.loads(printed.strip().splitlines()[-1])
        return {name: str(told.get(name) or known[name]) for name in NAMES}
    except (IndexError, ValueError, AttributeError, KeyError) as error:
        raise CommandFailed(
            f"`manage.py seed_demo` did not tell the demo's {', '.join(NAMES)}.",
            f"Run `make up` again; what it complained about is in {log}.",
        ) from error


def _write(path: Path, stack: Stack, facts: Mapping[str, str]) -> dict[str, str]:
    told = {
        "url": stack.installation.url,
        "admin_email": ADMIN_EMAIL,
        "admin_password": stack.credentials.admin_password,
        **facts,
    }
    files.write_json(path, told)
    return told
