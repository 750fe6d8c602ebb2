"""What an agent of each runtime has done is there after every kind of end, judged by drills, and
after ten stops."""

import pytest

from runtimes.catalog import CATALOG
from tests import sharing
from tests.stack.fleet import Fleet
from tests.stack.stack import Stack

CODEWORD = "dunlin-1909"
KINDS = ("process", "container", "reboot", "engine")
CYCLES = 10

every_runtime = pytest.mark.parametrize("slug", CATALOG)


@pytest.mark.parametrize("kind", KINDS)
@every_runtime
def test_a_drill_is_passed(fleet: Fleet, stack: Stack, slug: str, kind: str) -> None:
    agent = fleet[slug]
    agent.wait_running()
    agent.say(f"Remember: the codeword is {CODEWORD}")
    agent.run("python3", "-c", f"open('/workspace/{kind}.txt', 'w').write('{CODEWORD}')")

    with sharing.engine(alone=kind == "engine"):
        asked = stack.api("POST", f"{agent.path}/drills", json={"kind": kind})
        assert asked.status_code == 202, asked.text
        done = stack.finished(f"{agent.path}/drills/{asked.json()['id']}", 300)

    assert (done["status"], done["verdict"]) == ("done", "passed"), done
    assert done["files_compared"] > 0
    assert done["conversation_reachable"] is not False


# Stopping and starting is the node's work, whatever runs: the two that boot at once will do.
@pytest.mark.parametrize("slug", ["hermes", "opensre"])
def test_ten_stops_and_starts_keep_ten_changes(fleet: Fleet, slug: str) -> None:
    agent = fleet[slug]
    agent.wait_running()
    write = "import sys; open('/workspace/changes.txt', 'a').write(sys.argv[1] + chr(10))"
    for number in range(CYCLES):
        agent.run("python3", "-c", write, f"change {number}")
        agent.verb("stop")
        agent.wait(lambda shown: shown["status"] == "stopped")
        agent.verb("start")
        agent.wait_running()

    told = (agent.workspace / "changes.txt").read_text()

    assert told.splitlines() == [f"change {number}" for number in range(CYCLES)]
