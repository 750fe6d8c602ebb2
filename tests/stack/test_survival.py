"""The promise itself, on a whole installation: what an agent was told and wrote is still there."""

import hashlib
import os
import signal
import subprocess

import pytest

from tests.stack.stack import Stack

CODEWORD = "heron-4711"


def main_process(agent_id: str) -> int:
    init = subprocess.run(
        ["docker", "inspect", "-f", "{{.State.Pid}}", f"roost-{agent_id}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    children = subprocess.run(["pgrep", "-P", init], capture_output=True, text=True, check=True)
    return int(children.stdout.split()[0])


def docker(*words: str) -> None:
    subprocess.run(["docker", *words], capture_output=True, check=True)


def manifest(stack: Stack) -> dict[str, str]:
    """Every file the agent's owner put there, with its hash, read on the node."""
    root = stack.state / "workspaces" / stack.facts["agent"] / "data" / "reports"
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def told(stack: Stack) -> dict[str, str]:
    """Told once; every test below asks again after another death. Returns the files' hashes."""
    stack.say(f"Remember: the codeword is {CODEWORD}")
    script = (
        "import os,random\n"
        "random.seed(7)\n"
        "for i in range(200):\n"
        "    p=f'/workspace/reports/{i%7}/{i}.bin'\n"
        "    os.makedirs(os.path.dirname(p),exist_ok=True)\n"
        "    f=open(p,'wb'); f.write(random.randbytes(random.randint(0,40000)))\n"
        "    f.flush(); os.fsync(f.fileno())\n"
    )
    docker("exec", f"roost-{stack.facts['agent']}", "python3", "-c", script)
    found = manifest(stack)
    assert len(found) == 200
    return found


def assert_survived(stack: Stack, told: dict[str, str]) -> None:
    stack.wait_running()
    assert CODEWORD in stack.say("What is the codeword?")
    assert manifest(stack) == told


def changed(stack: Stack, since: int) -> bool:
    """Whether the timeline has told of something after an event."""
    newest = stack.api("GET", f"/agents/{stack.facts['agent']}/events?limit=1").json()
    return bool(newest["items"][0]["id"] > since)


def newest_event(stack: Stack) -> int:
    page = stack.api("GET", f"/agents/{stack.facts['agent']}/events?limit=1").json()
    return int(page["items"][0]["id"])


def test_kill_9_of_the_agents_main_process(stack, told):
    since = newest_event(stack)

    os.kill(main_process(stack.facts["agent"]), signal.SIGKILL)

    stack.wait(lambda: changed(stack, since))
    assert_survived(stack, told)


def test_docker_kill(stack, told):
    since = newest_event(stack)

    docker("kill", f"roost-{stack.facts['agent']}")

    stack.wait(lambda: changed(stack, since))
    assert_survived(stack, told)


def test_docker_rm_f(stack, told):
    since = newest_event(stack)

    docker("rm", "-f", f"roost-{stack.facts['agent']}")

    stack.wait(lambda: changed(stack, since))
    assert_survived(stack, told)


def test_docker_rm_f_with_web_worker_and_queue_killed_meanwhile(stack, told):
    since = newest_event(stack)

    docker("rm", "-f", f"roost-{stack.facts['agent']}")
    stack.kill("web", "worker", "valkey", "gateway", "node")

    stack.wait(lambda: changed(stack, since))
    assert_survived(stack, told)


def test_the_engine_restarts_it_with_its_keys_while_the_control_plane_is_down(stack, told):
    """Nobody of ours is there to help."""
    agent = stack.facts["agent"]
    stack.control("stop", "web", "worker", "gateway", "node", "valkey", "openbao")
    before = main_process(agent)
    os.kill(before, signal.SIGKILL)

    def back() -> bool:
        try:
            return main_process(agent) != before
        except (subprocess.CalledProcessError, IndexError):
            return False

    stack.wait(back)
    stack.control("start", "openbao", "valkey", "web", "worker", "gateway", "node")
    assert_survived(stack, told)


def test_postgres_killed_under_everything(stack, told):
    stack.kill("postgres")

    assert_survived(stack, told)


def test_a_flushed_queue_loses_nothing(stack, told):
    """Accepted while the queue is away, carried out all the same."""
    stack.control("stop", "valkey", "worker")
    try:
        body = {"name": "no-queue", "runtime": "hermes", "disk_gib": 1, "egress": "none"}
        created = stack.api("POST", "/agents", json=body)
        assert created.status_code == 202, created.text
        stack.wait_running(created.json()["id"])
        deleted = stack.api("DELETE", f"/agents/{created.json()['id']}")
        assert deleted.status_code == 202
    finally:
        stack.control("start", "valkey", "worker")

    def container_gone() -> bool:
        name = f"name=roost-{created.json()['id']}"
        seen = subprocess.run(
            ["docker", "ps", "-aq", "--filter", name], capture_output=True, text=True, check=True
        )
        return not seen.stdout.strip()

    stack.wait(container_gone)


def test_a_full_stop_and_start_of_everything(stack, told):
    stack.command("down")
    stack.command("up")

    assert_survived(stack, told)


def test_a_second_start_takes_over_what_runs(stack, told):
    before = {name: stack.pid(name) for name in ("web", "worker", "node", "postgres")}

    stack.command("up")

    assert before == {name: stack.pid(name) for name in before}
