"""What a node does again and again: who is swept, what it costs, who is called deaf."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from controlplane.agents.models import Agent, Release
from provisioner import rounds
from provisioner.models import Node
from provisioner.rounds import DEAF_AFTER, Rounds
from provisioner.secrets import Delivery

pytestmark = pytest.mark.django_db(transaction=True)


class Nudges:
    """In the place of the crew: who was nudged."""

    def __init__(self) -> None:
        self.nudged: list[str] = []

    def nudge(self, agent_id: str, *, insist: bool = False) -> None:
        self.nudged.append(agent_id)


@pytest.fixture
def crew() -> Nudges:
    return Nudges()


def settled(organisation, count: int = 1, **columns) -> list[Agent]:
    """Agents that run and have been seen as they are wanted."""
    kept = {"status": "running", "observed_generation": 1, "node": "node-1", "runtime": "hermes"}
    made = Agent.objects.bulk_create(
        Agent(
            organisation=organisation, name=f"a{Agent.objects.count() + n}", **{**kept, **columns}
        )
        for n in range(count)
    )
    releases = Release.objects.bulk_create(
        Release(
            agent=agent, number=1, image="i", runtime_version="1", memory_mb=512, cpu_millis=500,
            disk_gib=1, egress="none", author_label="test",
        )
        for agent in made
    )  # fmt: skip
    for agent, release in zip(made, releases, strict=True):
        agent.release = release
    Agent.objects.bulk_update(made, ["release"])
    return made


@pytest.mark.parametrize(
    ("columns", "swept"),
    [
        ({}, False),
        ({"generation": 2}, True),
        ({"due_at": timedelta(seconds=-1)}, True),
        ({"due_at": timedelta(seconds=60)}, False),
        ({"generation": 2, "lease_until": timedelta(seconds=9)}, False),
        ({"generation": 2, "lease_until": timedelta(seconds=-1)}, True),
        ({"due_at": timedelta(seconds=-1), "lease_until": timedelta(seconds=9)}, False),
        ({"generation": 2, "node": "node-2"}, False),
        ({"goal": "deleted", "status": "deleted", "due_at": timedelta(seconds=-1)}, True),
        ({"status": "pending", "observed_generation": 0}, True),
    ],
)
def test_who_is_swept(acme, crew, columns, swept):
    moments = {
        name: now() + value if isinstance(value, timedelta) else value
        for name, value in columns.items()
    }
    (agent,) = settled(acme, **moments)

    assert rounds.sweep(crew) == (1 if swept else 0)
    assert crew.nudged == ([agent.pk] if swept else [])


def test_who_has_waited_longest_comes_first_and_nobody_is_forgotten(acme, crew, monkeypatch):
    monkeypatch.setattr(rounds, "AT_ONCE", 2)
    late = [settled(acme, due_at=now() - timedelta(seconds=age))[0].pk for age in (10, 30, 20)]

    assert rounds.sweep(crew) == 2

    assert crew.nudged == [late[1], late[2]]


def queries(act) -> int:
    with CaptureQueriesContext(connection) as seen:
        act()
    return len(seen)


def test_the_cost_does_not_grow_with_agents_that_are_settled(acme, backend, crew):
    asked = Rounds(backend, crew)
    jobs = {"sweep": lambda: rounds.sweep(crew), "ask": asked.ask}
    settled(acme, 3)
    few = {name: queries(job) for name, job in jobs.items()}

    settled(acme, 300)

    assert {name: queries(job) for name, job in jobs.items()} == few
    assert few["sweep"] == 1


def test_the_sweep_reads_an_index_and_not_the_table(acme, crew):
    settled(acme, 300)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agents_agent")
        cursor.execute("SET enable_seqscan = off")
        moment = now()
        query = Agent.objects.on("node-1").due(moment).unleased(moment).order_by("due_at")
        plan = query.explain()
        cursor.execute("SET enable_seqscan = on")

    assert "agent_changed" in plan
    assert "agent_due" in plan


def heard(agent, backend) -> None:
    """The node can talk to it: it has a token and an address."""
    backend.keys.deliver(agent.pk, Delivery("0" * 32))
    Agent.objects.filter(pk=agent.pk).update(address="10.0.0.2")


def test_three_unanswered_questions_in_a_row_are_a_reason_to_look(acme, backend, crew):
    (agent,) = settled(acme)
    heard(agent, backend)
    asked = Rounds(backend, crew)
    backend.prober.deaf.add(agent.pk)

    for _ in range(DEAF_AFTER - 1):
        asked.ask()
    assert crew.nudged == []
    asked.ask()

    assert crew.nudged == [agent.pk]
    assert Agent.objects.get().status == "running"  # a pass decides, not the question


def test_one_answer_forgives(acme, backend, crew):
    (agent,) = settled(acme)
    heard(agent, backend)
    asked = Rounds(backend, crew)
    for deaf in (True, True, False, True, True):
        (backend.prober.deaf.add if deaf else backend.prober.deaf.discard)(agent.pk)
        asked.ask()

    assert crew.nudged == []


def test_who_answers_again_is_looked_at_once(acme, backend, crew):
    (agent,) = settled(acme, status="degraded")
    heard(agent, backend)

    Rounds(backend, crew).ask()

    assert crew.nudged == [agent.pk]


def test_whose_keys_are_gone_from_the_node_is_looked_at(acme, backend, crew):
    (agent,) = settled(acme)

    Rounds(backend, crew).ask()

    assert crew.nudged == [agent.pk]


@pytest.mark.parametrize(
    "columns",
    [{"goal": "stopped", "status": "stopped"}, {"status": "starting"}, {"node": "node-2"},
     {"status": "failed"}, {"goal": "deleted", "status": "deleting"}],
)  # fmt: skip
def test_nobody_else_is_asked(acme, backend, crew, columns):
    (agent,) = settled(acme, **columns)
    heard(agent, backend)
    backend.prober.deaf.add(agent.pk)
    asked = Rounds(backend, crew)

    for _ in range(DEAF_AFTER):
        asked.ask()

    assert crew.nudged == []
    assert Agent.objects.get().seen_at is None


def test_an_answer_is_written_down_as_a_time(acme, backend, crew):
    (agent,) = settled(acme)
    heard(agent, backend)

    Rounds(backend, crew).ask()

    assert now() - Agent.objects.get(pk=agent.pk).seen_at < timedelta(seconds=10)


def test_a_beat_tells_since_when_the_engine_is_silent(backend, engine):
    rounds.beat(backend)
    first = Node.objects.get()
    assert (first.engine, first.engine_silent_since) == ("fake", None)

    engine.silent = True
    rounds.beat(backend)
    silent = Node.objects.get()
    rounds.beat(backend)
    still = Node.objects.get()
    engine.silent = False
    rounds.beat(backend)

    assert silent.engine == "fake"
    assert silent.engine_silent_since == still.engine_silent_since is not None
    assert still.heartbeat_at > silent.heartbeat_at > first.heartbeat_at
    assert Node.objects.get().engine_silent_since is None


def test_an_engine_silent_from_the_first_is_told_too(backend, engine):
    engine.silent = True

    rounds.beat(backend)

    assert Node.objects.get().engine_silent_since is not None
