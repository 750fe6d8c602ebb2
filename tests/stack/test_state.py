"""State through all layers of an installation: snapshots off-site, restores, forks and drills."""

import pytest

from tests.stack.stack import Stack
from tests.stack.test_survival import docker

CODEWORD = "plover-0815"
OLD, NEW = "old", "new"


def write(stack: Stack, text: str) -> None:
    program = f"open('/workspace/point.txt', 'w').write('{text}')"
    docker("exec", f"roost-{stack.facts['agent']}", "python3", "-c", program)


def held(stack: Stack, agent: str) -> str:
    return (stack.state / "workspaces" / agent / "data" / "point.txt").read_text()


@pytest.fixture(scope="module")
def agent(stack: Stack) -> str:
    stack.wait_running()
    return f"/agents/{stack.facts['agent']}"


@pytest.fixture(scope="module")
def taken(stack: Stack, agent: str) -> dict:
    stack.say(f"Remember: the codeword is {CODEWORD}")
    write(stack, OLD)
    asked = stack.api("POST", f"{agent}/snapshots", json={"note": "by the suite"}).json()
    return stack.finished(f"{agent}/snapshots/{asked['id']}")


def test_a_snapshot_is_shipped_and_read_back(taken: dict) -> None:
    assert (taken["status"], taken["message"]) == ("done", "")
    assert taken["verified_at"]
    assert taken["on_node"]
    assert taken["held_ms"] < 500


def test_two_points_in_time_are_compared(stack: Stack, agent: str, taken: dict) -> None:
    write(stack, NEW)
    asked = stack.api("POST", f"{agent}/snapshots", json={}).json()
    later = stack.finished(f"{agent}/snapshots/{asked['id']}")
    path = f"{agent}/snapshots/{later['id']}/diff"

    seen = stack.api("GET", path, params={"against": taken["id"]}).json()
    text = stack.api(
        "GET", f"{path}/text", params={"against": taken["id"], "path": "point.txt"}
    ).json()

    assert "point.txt" in {entry["path"] for entry in seen["changed"]}
    assert "-old" in text["diff"]
    assert "+new" in text["diff"]


def test_a_fork_knows_what_its_origin_knew(stack: Stack, agent: str, taken: dict) -> None:
    made = stack.api("POST", f"{agent}/snapshots/{taken['id']}/fork", json={"name": "twin"})
    assert made.status_code == 202, made.text
    twin = made.json()["id"]
    try:
        stack.wait_running(twin)
        assert CODEWORD in stack.say("What is the codeword?", twin)
        assert held(stack, twin) == OLD
    finally:
        stack.api("DELETE", f"/agents/{twin}")


@pytest.mark.parametrize("kind", ["process", "container", "reboot"])
def test_a_drill_is_passed(stack: Stack, agent: str, kind: str) -> None:
    stack.wait_running()
    asked = stack.api("POST", f"{agent}/drills", json={"kind": kind})
    assert asked.status_code == 202, asked.text

    done = stack.finished(f"{agent}/drills/{asked.json()['id']}")

    assert (done["status"], done["verdict"]) == ("done", "passed"), done


def test_it_is_put_back_and_what_was_there_is_kept(stack: Stack, agent: str, taken: dict) -> None:
    write(stack, NEW)
    asked = stack.api("POST", f"{agent}/snapshots/{taken['id']}/restore", json={}).json()

    done = stack.finished(f"{agent}/restores/{asked['id']}")

    assert done["status"] == "done", done
    stack.wait_running()
    assert held(stack, stack.facts["agent"]) == OLD
    assert CODEWORD in stack.say("What is the codeword?")
    kept = stack.finished(f"{agent}/snapshots/{done['kept_as']}")
    assert (kept["origin"], kept["usable"]) == ("before_restore", True)
