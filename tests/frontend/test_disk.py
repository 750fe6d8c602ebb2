"""How full the disk is: on the page of its agent, in a graph, in the settings."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.disk import slot_of
from controlplane.agents.models import Agent, Condition, DiskSample
from frontend.templatetags.disks import bytes_in_words

PAGE = "/acme/agents/heron"
GIB = 1024**3


def measured(agent: Agent, level: str, share: float) -> None:
    total = 5 * GIB
    Agent.objects.filter(pk=agent.pk).update(
        disk_used=int(total * share), disk_total=total, disk_level=level, disk_at=now(),
        workspace_made_at=now(), quota_enforcement="hard",
    )  # fmt: skip
    Condition.objects.create(
        agent=agent, type="DiskSpace", status=level == "ok", since=now(),
        message="" if level == "ok" else "It uses much. Delete files.",
    )  # fmt: skip


def sampled(agent: Agent, count: int) -> None:
    newest = slot_of(now())
    DiskSample.objects.bulk_create(
        DiskSample(agent=agent, at=newest - timedelta(minutes=5 * n), used=n * GIB, total=5 * GIB)
        for n in range(count)
    )


def shown(client: Client, address: str = PAGE) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_before_it_is_made_nothing_is_claimed(alice_web: Client, agent: Agent) -> None:
    page = shown(alice_web)

    assert "It has none yet." in page
    assert "Disk over time" not in page


def test_figures_bar_and_limit(alice_web: Client, agent: Agent) -> None:
    measured(agent, "ok", 0.5)

    page = shown(alice_web)

    assert "<dd>2.5 GiB</dd><dd>of 5.0 GiB, 50 % · hard limit" in page
    assert '<rect width="50" height="1"/>' in page
    assert "Has room" in page
    assert "larger disk" not in page


@pytest.mark.parametrize(
    ("level", "word", "tone"),
    [
        ("filling", "Filling up", "is-warn"),
        ("nearly_full", "Nearly full", "is-warn"),
        ("full", "Full", "is-bad"),
    ],
)
def test_a_level_is_a_shape_a_word_and_what_to_do(
    alice_web: Client, agent: Agent, level: str, word: str, tone: str
) -> None:
    measured(agent, level, 0.99)

    page = shown(alice_web)

    assert f'<section class="panel {tone}" id="disk"' in page
    assert f"{word}</span></header>" in page
    assert "It uses much. Delete files." in page
    assert "settings#id_disk_gib" in page


@pytest.mark.parametrize("tab", ["", "/chat", "/logs", "/settings"])
def test_a_full_disk_is_said_on_every_page_of_its_agent(
    alice_web: Client, agent: Agent, tab: str
) -> None:
    measured(agent, "full", 1)

    assert "<b>It uses much.</b> Delete files." in shown(alice_web, PAGE + tab)


def test_who_may_only_read_is_offered_nothing(bob_web: Client, agent: Agent) -> None:
    measured(agent, "full", 1)

    assert "larger disk</a>" not in shown(bob_web)


def test_a_graph_has_its_finding_in_words_and_a_table(alice_web: Client, agent: Agent) -> None:
    sampled(agent, 4)

    page = shown(alice_web)

    assert 'data-step="300"' in page
    assert "between 0 MiB and 3.0 GiB" in page
    assert page.count('<td class="num">2.0 GiB</td><td class="num">40 %</td>') == 1


def test_a_graph_goes_back_as_far_as_it_is_asked_to(alice_web: Client, agent: Agent) -> None:
    sampled(agent, 4)
    DiskSample.objects.create(
        agent=agent, at=now() - timedelta(days=3), used=5 * GIB, total=6 * GIB
    )

    week = shown(alice_web, f"{PAGE}?window=7d")

    assert 'href="?window=7d" hx-get="?window=7d"' in week
    assert f",{5 * GIB},{6 * GIB}" in week
    assert f",{5 * GIB},{6 * GIB}" not in shown(alice_web, f"{PAGE}?window=nonsense")


def test_the_settings_offer_only_what_is_larger(alice_web: Client, agent: Agent) -> None:
    page = shown(alice_web, f"{PAGE}/settings")

    assert '<option value="5" selected>5 GiB</option>' in page
    assert '<option value="50">' in page
    assert '<option value="1">' not in page


@pytest.mark.parametrize(("gib", "status", "has"), [("20", 303, 20), ("", 303, 5), ("1", 422, 5)])
def test_a_disk_is_grown_in_the_settings(
    alice_web: Client, agent: Agent, gib: str, status: int, has: int
) -> None:
    form: dict[str, Any] = {
        "name": "heron", "provider": "none", "size": "small", "egress": "open",
        "etag": agent.etag, "disk_gib": gib,
    }  # fmt: skip

    response = alice_web.post(f"{PAGE}/settings", form)

    agent.refresh_from_db()
    assert response.status_code == status
    assert agent.release is not None
    assert agent.release.disk_gib == has


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 MiB"), (43 * 1024**2, "43 MiB"), (int(1.87 * GIB), "1.9 GiB"), (120 * GIB, "120 GiB")],
)
def test_sizes_are_told_in_gib(number: int, words: str) -> None:
    assert bytes_in_words(number) == words
