"""How full workspaces are: written down, sampled, and told once when a level is crossed."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import update_agent
from controlplane.agents.models import Agent, DiskSample
from controlplane.tenants.models import Organisation
from provisioner.disks import MEBIBYTE, Disks, level_of
from provisioner.workspaces.base import Usage, WorkspaceTrouble
from tests.provisioner.test_rounds import queries, settled

pytestmark = pytest.mark.django_db

GIB = 1024**3


@pytest.fixture
def disks(backend) -> Disks:
    return Disks(backend)


def measured(backend, disks, agent, share) -> Agent:
    """After one round with that share of its workspace used."""
    total = backend.workspaces.sizes[agent.pk] * GIB
    backend.workspaces.used[agent.pk] = int(total * share)
    disks.measure()
    return Agent.objects.get(pk=agent.pk)


def told(agent) -> list[str]:
    rows = agent.events.filter(kind__startswith="disk.").order_by("id")
    return [row.kind.removeprefix("disk.") for row in rows]


@pytest.mark.parametrize(
    ("share", "before", "level"),
    [
        (0.79, "unknown", "ok"),
        (0.80, "ok", "filling"),
        (0.78, "filling", "filling"),
        (0.78, "ok", "ok"),
        (0.76, "filling", "ok"),
        (0.95, "ok", "nearly_full"),
        (0.93, "nearly_full", "nearly_full"),
        (0.93, "filling", "filling"),
        (0.91, "nearly_full", "filling"),
        (0.78, "nearly_full", "filling"),
        (0.50, "full", "ok"),
        (1.00, "unknown", "full"),
        (1.20, "ok", "full"),
    ],
)
def test_a_level_begins_higher_than_it_ends(share, before, level):
    assert level_of(Usage(int(5 * GIB * share), 5 * GIB), before) == level


def test_a_disk_with_no_file_left_is_full_however_few_bytes_it_holds():
    assert level_of(Usage(1, 5 * GIB, 1000, 1000), "ok") == "full"
    assert level_of(Usage(1, 5 * GIB, 960, 1000), "ok") == "nearly_full"


def test_full_ends_once_there_is_room_to_work_in():
    def left(mib):
        return Usage(50 * GIB - mib * MEBIBYTE, 50 * GIB)

    assert level_of(left(2), "nearly_full") == "nearly_full"
    assert level_of(left(2), "full") == "full"
    assert level_of(left(17), "full") == "nearly_full"


def test_the_newest_figures_are_the_agents(backend, disks, running):
    agent = measured(backend, disks, running, 0.5)

    assert (agent.disk_used, agent.disk_total) == (5 * GIB // 2, 5 * GIB)
    assert agent.disk_level == "ok"
    assert now() - agent.disk_at < timedelta(seconds=10)


def test_each_crossing_is_told_once_up_and_back(backend, disks, running):
    for share in (0.1, 0.81, 0.79, 0.96, 0.94, 1, 1, 0.5):
        agent = measured(backend, disks, running, share)

    assert told(agent) == ["filling", "nearly_full", "full", "ok"]
    assert agent.conditions.get(type="DiskSpace").status is True


def test_a_full_disk_says_what_that_means_and_what_to_do(backend, disks, running):
    Agent.objects.update(quota_enforcement="hard")
    agent = measured(backend, disks, running, 1)

    condition = agent.conditions.get(type="DiskSpace")
    assert (condition.status, condition.reason) == (False, "disk_full")
    assert "its disk is full: what it writes is lost until there is room" in (
        condition.message.lower()
    )
    assert "5.0 of 5.0 GiB" in condition.message
    assert "give it a larger disk in its settings" in condition.message
    assert agent.events.get(kind="disk.full").level == "bad"


def test_past_an_advisory_limit_nothing_is_said_to_be_lost(backend, disks, running):
    agent = measured(backend, disks, running, 1.5)

    assert agent.quota_enforcement == "advisory"
    assert "cannot enforce" in agent.conditions.get(type="DiskSpace").message


def test_a_condition_keeps_its_clock_while_it_gets_worse(backend, disks, running):
    first = measured(backend, disks, running, 0.85).conditions.get(type="DiskSpace")
    second = measured(backend, disks, running, 0.97).conditions.get(type="DiskSpace")

    assert first.since == second.since
    assert first.message != second.message


def test_what_is_not_mounted_keeps_its_last_figures(backend, disks, running):
    before = measured(backend, disks, running, 0.85)
    backend.workspaces.release(running.pk)
    disks.measure()

    assert Agent.objects.get(pk=running.pk).disk_at == before.disk_at
    assert told(before) == ["filling"]


def test_one_that_cannot_be_measured_does_not_hide_the_others(backend, disks, running, monkeypatch):
    (other,) = settled(running.organisation, workspace_made_at=now())
    usage = backend.workspaces.usage

    def failing(agent_id):
        if agent_id == other.pk:
            raise WorkspaceTrouble("it does not answer")
        return usage(agent_id)

    monkeypatch.setattr(backend.workspaces, "usage", failing)

    assert measured(backend, disks, running, 0.2).disk_at is not None


def test_a_slot_of_five_minutes_has_one_sample(backend, disks, running):
    for share in (0.1, 0.2):
        measured(backend, disks, running, share)
        Disks(backend).measure()  # as after a restart of the node

    sample = DiskSample.objects.get()
    assert sample.used == int(5 * GIB * 0.1)
    assert sample.at.minute % 5 == sample.at.second == sample.at.microsecond == 0


@pytest.mark.django_db(transaction=True)
def test_the_queries_do_not_grow_with_the_agents(acme: Organisation, backend, disks):
    def with_disks(count):
        for agent in settled(acme, count, workspace_made_at=now()):
            backend.workspaces.ensure(agent.pk, 5, made=False)
        return queries(lambda: Disks(backend).measure())

    assert with_disks(3) == with_disks(200)


def test_a_larger_disk_is_told_in_the_timeline(as_alice, backend, running, go):
    update_agent(as_alice, running, disk_gib=20)
    agent = go(running)

    assert agent.status == "running"
    assert backend.workspaces.sizes[agent.pk] == 20
    assert agent.events.filter(title="Workspace grown to 20 GiB").count() == 1
