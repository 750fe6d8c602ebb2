"""What agents with a list were told: opened once, bounded, and given again after a loss."""

import pytest

from provisioner import grants
from provisioner.grants import Grants, TooMany
from provisioner.guard import GuardError
from provisioner.reach import Reach

SCOUT = Reach("agt_scout", "ag-0", "10.0.0.2", "list", ("api.example.com",))
CHANGED = Reach("agt_scout", "ag-0", "10.0.0.2", "list", ("other.example.com",))
HEIR = Reach("agt_heir", "ag-0", "10.0.0.2", "list", ("api.example.com",))
WAY = ("11.22.33.2", 443)


class Ways(list):
    away = False

    def __call__(self, agent, targets, seconds) -> None:
        if self.away:
            raise GuardError
        self.append((agent, set(targets), seconds))


@pytest.fixture
def ways() -> Ways:
    return Ways()


@pytest.fixture
def made(ways) -> Grants:
    return Grants(ways)


def test_the_same_answer_within_seconds_costs_nothing(made, ways):
    for _ in range(3):
        made.give(SCOUT, [WAY], 60)

    assert ways == [(SCOUT, {WAY}, 300)]


def test_one_that_is_told_to_be_kept_for_longer_is_opened_for_longer(made, ways):
    made.give(SCOUT, [WAY], 60)
    made.give(SCOUT, [WAY], 900)

    assert [seconds for *_, seconds in ways] == [300, 960]


@pytest.mark.parametrize("other", [CHANGED, HEIR], ids=["another list", "another agent"])
def test_what_one_was_told_is_worth_nothing_to_another(made, ways, other):
    made.give(SCOUT, [WAY], 60)
    made.keep_only([other])
    made.give(other, [WAY], 60)
    made.keep_only([SCOUT])
    made.give(SCOUT, [WAY], 60)

    assert [agent for agent, *_ in ways] == [SCOUT, other, SCOUT]


def test_one_agent_fills_its_own_share_alone(made, ways, monkeypatch):
    monkeypatch.setattr(grants, "MOST_EACH", 2)
    made.give(SCOUT, [("11.0.0.1", 443), ("11.0.0.2", 443)], 60)

    with pytest.raises(TooMany):
        made.give(SCOUT, [("11.0.0.3", 443)], 60)
    made.give(HEIR, [("11.0.0.3", 443)], 60)

    assert len(ways) == 2


def test_what_the_guard_refused_counts_for_nothing(made, ways):
    ways.away = True
    with pytest.raises(GuardError):
        made.give(SCOUT, [WAY], 60)
    ways.away = False

    made.give(SCOUT, [WAY], 60)

    assert len(ways) == 1


def test_all_that_holds_is_given_again(made, ways):
    made.give(SCOUT, [WAY, ("11.0.0.2", 80)], 900)
    made.give_again()

    assert ways[1][:2] == (SCOUT, {WAY, ("11.0.0.2", 80)})
    assert 900 < ways[1][2] <= 961
