"""The node's own workers: never two passes at once for one agent, and no news is lost."""

import threading
import time

import pytest

from provisioner import crew as crew_module
from provisioner.crew import Crew


class Passes:
    """In the place of reconcile.py: each pass waits until it is let go."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.at_once = self.most_at_once = 0
        self.go = threading.Semaphore(0)
        self.refusals = 0
        self._lock = threading.Lock()

    def __call__(self, agent_id: str, backend: object) -> bool:
        with self._lock:
            self.began.append(agent_id)
            if self.refusals:
                self.refusals -= 1
                return False
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        assert self.go.acquire(timeout=10)
        with self._lock:
            self.at_once -= 1
        return True


class Rows:
    """In the place of the table: which agents there are."""

    def __init__(self) -> None:
        self.purged: set[str] = set()
        self.objects = self

    def filter(self, *, pk: str) -> "Rows":
        self.asked = pk
        return self

    def exists(self) -> bool:
        return self.asked not in self.purged


@pytest.fixture
def rows(monkeypatch) -> Rows:
    made = Rows()
    monkeypatch.setattr(crew_module, "Agent", made)
    return made


@pytest.fixture
def passes(rows, monkeypatch) -> Passes:
    made = Passes()
    monkeypatch.setattr(crew_module, "reconcile", made)
    monkeypatch.setattr(crew_module, "RETRY_AFTER", 0.01)
    return made


@pytest.fixture
def crew(passes):
    made = Crew(backend=None)
    yield made
    for _ in range(100):
        passes.go.release()
    made.stop()


def until(check) -> None:
    end = time.monotonic() + 5
    while not check():
        assert time.monotonic() < end
        time.sleep(0.005)


def idle(crew) -> bool:
    return crew._busy == {}


def test_a_nudge_is_a_pass(crew, passes):
    crew.nudge("a")
    passes.go.release()

    until(lambda: idle(crew))
    assert passes.began == ["a"]


def test_nudges_during_a_pass_are_no_second_one(crew, passes):
    crew.nudge("a")
    until(lambda: passes.at_once == 1)
    for _ in range(10):
        crew.nudge("a")
    passes.go.release()

    until(lambda: idle(crew))
    assert passes.began == ["a"]


def test_news_during_a_pass_is_one_more_pass_afterwards(crew, passes):
    crew.nudge("a")
    until(lambda: passes.at_once == 1)
    for _ in range(10):
        crew.nudge("a", insist=True)
        crew.nudge("a")
    passes.go.release(2)

    until(lambda: len(passes.began) == 2 and idle(crew))
    assert passes.began == ["a", "a"]
    assert passes.most_at_once == 1


def test_news_waits_for_another_worker_to_let_go(crew, passes):
    passes.refusals = 5
    crew.nudge("a", insist=True)

    until(lambda: passes.began == ["a"] * 6)
    passes.go.release()
    until(lambda: idle(crew))
    time.sleep(0.05)
    assert passes.began == ["a"] * 6


def test_who_waits_for_another_worker_keeps_no_hand_from_others(crew, passes):
    passes.refusals = crew_module.HANDS * 3
    for number in range(crew_module.HANDS):
        crew.nudge(f"held{number}", insist=True)
    until(lambda: len(passes.began) >= crew_module.HANDS)

    crew.nudge("free")

    until(lambda: "free" in passes.began)


def test_nobody_waits_for_an_agent_that_is_gone_for_good(crew, passes, rows):
    rows.purged.add("a")
    passes.refusals = 1000
    crew.nudge("a", insist=True)

    until(lambda: passes.began and idle(crew))
    time.sleep(0.05)
    assert passes.began == ["a"]


def test_after_its_end_nothing_is_begun(crew, passes):
    passes.go.release(10)
    crew.stop()

    crew.nudge("a", insist=True)

    assert passes.began == []


def test_news_during_a_pass_waits_for_another_worker_too(crew, passes):
    crew.nudge("a")
    until(lambda: passes.at_once == 1)
    crew.nudge("a", insist=True)
    passes.refusals = 3
    passes.go.release(2)

    until(lambda: len(passes.began) == 5 and idle(crew))
    time.sleep(0.05)
    assert passes.began == ["a"] * 5


def test_without_news_an_agent_that_is_held_is_left_to_the_sweep(crew, passes):
    passes.refusals = 5
    crew.nudge("a")

    until(lambda: passes.began and idle(crew))
    time.sleep(0.05)
    assert passes.began == ["a"]


def test_an_agent_that_is_held_for_ever_is_left_to_the_sweep(crew, passes):
    passes.refusals = 1000
    crew.nudge("a", insist=True)

    until(lambda: len(passes.began) > crew_module.RETRIES and idle(crew))
    time.sleep(0.05)
    assert len(passes.began) == crew_module.RETRIES + 1


def test_as_many_at_once_as_there_are_hands(crew, passes):
    for number in range(20):
        crew.nudge(f"a{number}")
    until(lambda: passes.at_once == crew_module.HANDS)
    passes.go.release(20)

    until(lambda: idle(crew))
    assert passes.most_at_once == crew_module.HANDS
    assert sorted(passes.began) == sorted(f"a{number}" for number in range(20))


def test_a_pass_that_fails_keeps_nobody_from_the_next(crew, passes, monkeypatch, caplog):
    def broken(agent_id: str, backend: object) -> bool:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(crew_module, "reconcile", broken)
    crew.nudge("a")
    until(lambda: idle(crew))
    assert "pass over a failed" in caplog.text
    monkeypatch.setattr(crew_module, "reconcile", passes)

    crew.nudge("a")
    passes.go.release()

    until(lambda: idle(crew))
    assert passes.began == ["a"]
