"""Plain workspaces: what the last walk found, and how seldom there is one."""

import pytest

from provisioner.engines.fake import FakeEngine
from provisioner.workspaces import plain
from provisioner.workspaces.base import Usage
from provisioner.workspaces.plain import GIBIBYTE, PlainWorkspaces


@pytest.fixture
def driver(tmp_path) -> PlainWorkspaces:
    driver = PlainWorkspaces(tmp_path, FakeEngine())
    driver.prepare_node()
    for agent_id in ("agt_a", "agt_b"):
        driver.ensure(agent_id, 5, made=False)
    (driver.points / ".used").write_text("1234\tagt_a/data\n")
    return driver


def test_figures_are_the_last_walks_and_the_limit_is_what_it_may_hold(driver):
    assert driver.usage("agt_a") == Usage(1234, 5 * GIBIBYTE)


def test_one_that_the_walk_did_not_come_to_has_no_figures(driver):
    assert driver.usage("agt_b") is None


def test_a_grown_one_may_hold_more(driver):
    driver.ensure("agt_a", 20, made=True)

    assert driver.usage("agt_a") == Usage(1234, 20 * GIBIBYTE)


def test_all_of_them_share_a_walk_and_the_next_is_later(driver, monkeypatch):
    walks = []
    monkeypatch.setattr(driver, "_as_root", lambda point, script: walks.append(script))
    for agent_id in ("agt_a", "agt_b", "agt_a"):
        driver.usage(agent_id)
    assert len(walks) == 1

    monkeypatch.setattr(plain, "EVERY", -1.0)
    driver.usage("agt_a")

    assert len(walks) == 2
