"""What a full disk is told as, where it keeps an agent down."""

import json

import pytest

from controlplane.agents.models import Agent, DiskLevel
from provisioner.engines.base import LogLine
from provisioner.words_disk import first_of_all
from provisioner.workspaces.base import Usage
from provisioner.workspaces.fake import GIBIBYTE
from tests.provisioner.test_reconcile import never_comes_up

FULL = Usage(5 * GIBIBYTE, 5 * GIBIBYTE)
NO_ROOM = "OSError: [Errno 28] No space left on device: '/workspace/.hermes/logs/agent.log'"
REFUSED = json.dumps({"roost": "boot", "code": "workspace_full", "message": "/workspace is full."})


def told(level: DiskLevel, line: str = "bye", *, hard: bool = True) -> str:
    return first_of_all(level, FULL, [LogLine("t", line)], hard=hard)


def test_it_says_how_full_it_is_and_the_way_out():
    said = told(DiskLevel.FULL)

    assert said.startswith("Its disk is full, and so it cannot go on. It uses 5.0 of 5.0 GiB")
    assert "Give it a larger disk in its settings, then start it" in said


@pytest.mark.parametrize(
    "line",
    [
        NO_ROOM,
        "Error: ENOSPC: no space left on device, write",
        "sqlite3.OperationalError: database or disk is full",
        'PANIC:  could not write to file "pg_wal/xlogtemp.12": No space left on device',
    ],
)
def test_a_program_that_took_its_scraps_along_is_believed(line):
    assert told(DiskLevel.NEARLY_FULL, line)


def test_the_boot_check_needs_no_figures():
    said = first_of_all(DiskLevel.UNKNOWN, None, [LogLine("t", REFUSED)], hard=False)

    assert said.startswith("Its disk is full, and so it cannot go on. Give it a larger disk")


@pytest.mark.parametrize(
    ("level", "line", "hard"),
    [
        (DiskLevel.NEARLY_FULL, "bye", True),
        (DiskLevel.OK, NO_ROOM, True),  # somebody else's disk, or words of its own
        (DiskLevel.FULL, "bye", False),  # past a size that nothing enforces
    ],
)
def test_a_disk_that_is_not_the_cause_is_not_named(level, line, hard):
    assert told(level, line, hard=hard) == ""


@pytest.mark.django_db
def test_an_agent_that_ends_again_and_again_on_a_full_disk_is_told_so_first(
    agent, go, engine, backend, container
):
    backend.workspaces.enforcement = "hard"
    backend.workspaces.used[agent.pk] = FULL.used

    agent = never_comes_up(agent, go, engine, backend, container)

    assert agent.status == "crash_looping"
    assert agent.message.startswith("Its disk is full, and so it cannot go on. It uses 5.0 of 5.0")


@pytest.mark.django_db
def test_figures_of_before_serve_where_none_can_be_had_now(agent, go, engine, backend, container):
    Agent.objects.filter(pk=agent.pk).update(
        disk_level="full", disk_used=FULL.used, disk_total=FULL.total
    )
    backend.workspaces.enforcement = "hard"
    backend.workspaces.usage = lambda _: None

    agent = never_comes_up(agent, go, engine, backend, container)

    assert agent.message.startswith("Its disk is full")
