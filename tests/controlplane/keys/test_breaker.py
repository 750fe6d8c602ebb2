"""While the vault hangs, one caller waits for it and the others are told at once."""

import pytest

from controlplane.keys.vault import VaultUnavailable
from controlplane.keys.vault.breaker import PAUSE, Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hung(clock: Clock) -> Breaker:
    breaker = Breaker(clock)
    breaker.enter()
    breaker.hung("it does not answer (ReadTimeout)")
    return breaker


def test_after_a_call_that_hung_the_next_is_told_at_once(hung):
    with pytest.raises(VaultUnavailable, match="ReadTimeout"):
        hung.enter()


def test_after_the_pause_one_call_tries_and_the_others_wait_for_it(hung, clock):
    clock.now = PAUSE
    hung.enter()

    with pytest.raises(VaultUnavailable):
        hung.enter()


def test_an_answer_opens_the_way_for_all(hung, clock):
    clock.now = PAUSE
    hung.enter()
    hung.answered()

    hung.enter()
    hung.enter()


def test_one_that_tried_and_never_came_back_is_followed_by_another(hung, clock):
    clock.now = PAUSE
    hung.enter()
    clock.now = 2 * PAUSE

    hung.enter()
    with pytest.raises(VaultUnavailable):
        hung.enter()
