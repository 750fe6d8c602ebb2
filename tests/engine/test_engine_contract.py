"""What base.Engine promises, asked of Docker and of the fake alike."""

import gc
import itertools
import threading
import time
from dataclasses import replace

import pytest
import requests
from docker.errors import APIError

from provisioner import names
from provisioner.engines import docker as docker_engine
from provisioner.engines.base import AddressTaken, EngineRefused, EngineUnavailable, ImageMissing
from provisioner.engines.docker import DockerEngine
from provisioner.engines.docker_logs import MOST, engine_time
from tests.engine.conftest import wait_for
from tests.engine.rigs import MINE, NETWORK, DockerRig, FakeRig, cleared


@pytest.fixture(params=["fake", "docker"])
def rig(request, tmp_path):
    if request.param == "fake":
        rig = FakeRig()
    else:
        node, tiny = request.getfixturevalue("node"), request.getfixturevalue("tiny")
        tmp_path.chmod(0o755)
        for parent in tmp_path.parents[:2]:
            parent.chmod(0o755)
        rig = DockerRig(node.engine, tiny, tmp_path)
    with cleared(rig.engine):
        rig.engine.ensure_network(NETWORK)
        yield rig
    rig.engine.ensure_network_removed(NETWORK.name)


@pytest.fixture
def running(rig):
    spec = rig.spec()
    rig.engine.ensure_created(spec)
    rig.engine.ensure_started(spec.name)
    return spec.name


def until(rig, name, check):
    wait_for(lambda: check(rig.engine.inspect(name)), 10)
    return rig.engine.inspect(name)


def test_what_is_not_there_counts_as_stopped_and_removed(rig):
    assert rig.engine.inspect("roost-none") is None
    rig.engine.ensure_stopped("roost-none", 1)
    rig.engine.ensure_removed("roost-none")
    rig.engine.ensure_network_removed("roost-none")
    assert rig.engine.log_tail("roost-none", 5) == []
    assert not rig.engine.has_image(rig.missing)


def test_to_start_what_went_away_meanwhile_is_no_error(rig):
    rig.engine.ensure_started("roost-none")
    rig.engine.nudge("roost-none")

    assert rig.engine.inspect("roost-none") is None


def test_a_main_process_that_is_killed_is_started_again_by_the_engine(rig, running):
    before = rig.engine.inspect(running)

    rig.engine.kill_main(running)

    seen = until(rig, running, lambda seen: seen.up and seen.life != before.life)
    assert (seen.id, seen.ends) == (before.id, 1)


def test_to_kill_what_does_not_run_is_no_error(rig, running):
    rig.engine.kill_main("roost-none")
    rig.engine.ensure_stopped(running, 1)

    rig.engine.kill_main(running)

    assert rig.engine.inspect(running).state == "exited"


def test_a_missing_image_is_told_by_its_name(rig):
    with pytest.raises(ImageMissing) as told:
        rig.engine.ensure_created(rig.spec(rig.missing))

    assert told.value.image == rig.missing
    assert rig.missing in str(told.value)


def test_a_container_without_its_network_is_refused_and_comes_up_with_it(rig):
    rig.engine.ensure_network_removed(NETWORK.name)
    spec = rig.spec()

    def come_up() -> None:
        rig.engine.ensure_created(spec)  # one engine refuses here, another below
        rig.engine.ensure_started(spec.name)

    with pytest.raises(EngineRefused):
        come_up()

    rig.engine.ensure_network(NETWORK)
    rig.engine.ensure_created(spec)
    rig.engine.ensure_started(spec.name)
    assert rig.engine.inspect(spec.name).up


@pytest.mark.parametrize("verb", ["ensure_started", "nudge"])
def test_one_that_an_engine_can_never_start_again_is_removed_to_be_made_anew(
    rig, verb, monkeypatch
):
    """Its words after a restart that left the container's task behind (20.10)."""
    if isinstance(rig, FakeRig):
        return
    rig.engine.ensure_network(NETWORK)
    spec = rig.spec()
    rig.engine.ensure_created(spec)

    def refuse(*_, **__):
        said = f"task {'0a' * 32}: already exists"
        raise APIError("409 Client Error", response=requests.Response(), explanation=said)

    with monkeypatch.context() as patched:
        for call in ("start", "restart"):
            patched.setattr(rig.engine._api, call, refuse)
        getattr(rig.engine, verb)(spec.name)
    assert rig.engine.inspect(spec.name) is None

    rig.engine.ensure_created(spec)
    rig.engine.ensure_started(spec.name)
    assert rig.engine.inspect(spec.name).up


def test_a_network_twice_is_one_network(rig):
    rig.engine.ensure_network(NETWORK)

    assert rig.engine.networks(MINE) == [NETWORK.name]
    assert rig.engine.networks(names.mine("somebody-else")) == []


def test_a_network_of_its_name_with_another_subnet_is_made_anew_or_told(rig):
    other = replace(NETWORK, subnet="10.214.252.16/28", gateway="10.214.252.17")
    rig.engine.ensure_network(other)
    rig.engine.ensure_network(NETWORK)  # nothing was on it
    spec = rig.spec()
    rig.engine.ensure_created(spec)
    rig.engine.ensure_started(spec.name)

    with pytest.raises(EngineRefused, match="another network"):
        rig.engine.ensure_network(other)
    assert rig.engine.inspect(spec.name).connected


def test_an_address_that_a_stranger_has_is_told(rig, running):
    if isinstance(rig, FakeRig):
        rig.engine.strangers = {rig.engine.inspect(running).address}
    late = replace(
        rig.spec(), name=names.container("agt_late"), labels=rig.spec().labels | {names.AGENT: "x"}
    )
    rig.engine.ensure_created(late)

    with pytest.raises(AddressTaken):
        rig.engine.ensure_started(late.name)
    assert rig.engine.inspect(running).up


def test_life_of_a_container(rig):
    spec = rig.spec()
    rig.engine.ensure_created(spec)
    made = rig.engine.inspect(spec.name)
    assert (made.state, made.agent_id) == ("created", spec.labels[names.AGENT])
    assert (made.release, made.restart) == (3, 2)
    rig.engine.ensure_created(spec)
    assert rig.engine.inspect(spec.name) == made  # left as it is

    rig.engine.ensure_started(spec.name)
    up = rig.engine.inspect(spec.name)
    assert (up.id, up.state, up.address) == (made.id, "running", spec.address)
    rig.engine.ensure_started(spec.name)
    assert rig.engine.inspect(spec.name) == up

    rig.engine.ensure_stopped(spec.name, 5)
    down = rig.engine.inspect(spec.name)
    assert (down.id, down.state) == (made.id, "exited")
    assert down.life != up.life
    rig.engine.ensure_stopped(spec.name, 5)
    assert rig.engine.inspect(spec.name) == down

    rig.engine.ensure_started(spec.name)
    again = rig.engine.inspect(spec.name)
    assert (again.id, again.state, again.ends) == (made.id, "running", 0)
    assert again.life not in {up.life, down.life}

    rig.engine.ensure_removed(spec.name)
    rig.engine.ensure_removed(spec.name)
    assert rig.engine.inspect(spec.name) is None


def test_a_list_shows_only_what_carries_the_labels(rig, running):
    (listed,) = rig.engine.containers(MINE)

    assert (listed.name, listed.state) == (running, "running")
    assert (listed.release, listed.restart) == (3, 2)
    assert rig.engine.containers({**MINE, names.AGENT: listed.agent_id}) == [listed]
    assert rig.engine.containers({**MINE, names.AGENT: "agt_none"}) == []
    assert rig.engine.containers(names.mine("tests-")) == []


def test_who_dies_is_started_again_by_the_engine(rig, running):
    before = rig.engine.inspect(running)

    rig.kill_main(running)

    after = until(rig, running, lambda seen: seen.state == "running" and seen.restart_count == 1)
    assert after.id == before.id
    assert after.life != before.life
    assert after.ends == before.ends + 1


def test_who_was_stopped_stays_down(rig, running):
    rig.engine.ensure_stopped(running, 5)
    before = rig.engine.inspect(running)

    time.sleep(1)

    assert rig.engine.inspect(running) == before


def test_who_was_stopped_and_started_is_kept_up_again(rig, running):
    rig.engine.ensure_stopped(running, 5)
    rig.engine.ensure_started(running)

    rig.kill_main(running)

    until(rig, running, lambda seen: seen.state == "running" and seen.restart_count == 1)


def test_a_nudge_ends_the_wait_of_who_fails_again_and_again(rig, running):
    rig.keep_failing(running)
    seen = rig.engine.inspect(running)
    assert (seen.state, seen.exit_code) == ("restarting", 78)
    rig.stop_failing(running)
    began = time.monotonic()

    rig.engine.nudge(running)

    assert rig.engine.inspect(running).state == "running"
    assert time.monotonic() - began < 5
    assert rig.engine.inspect(running).restart_count == 0


def test_who_waits_to_be_started_again_can_be_stopped(rig, running):
    rig.keep_failing(running)

    rig.engine.ensure_stopped(running, 1)
    rig.stop_failing(running)
    time.sleep(2)

    assert rig.engine.inspect(running).state == "exited"


def test_events_tell_of_a_life(rig):
    seen = []
    since = int(time.time())
    spec = rig.spec()
    wanted = ["start", "die", "start", "die", "destroy"]

    def listen():
        for event in rig.engine.events(MINE, since):
            own = event.agent_id == spec.labels[names.AGENT]  # the last second comes again
            if own and event.action in {"start", "die", "destroy"}:
                seen.append((event.agent_id, event.action))
                if len(seen) == len(wanted):
                    return

    thread = threading.Thread(target=listen)
    thread.start()
    wait_for(lambda: not hasattr(rig.engine, "_listeners") or rig.engine._listeners)
    rig.engine.ensure_created(spec)
    rig.engine.ensure_started(spec.name)
    rig.engine.ensure_stopped(spec.name, 5)
    rig.engine.ensure_started(spec.name)
    rig.engine.ensure_stopped(spec.name, 5)
    rig.engine.ensure_removed(spec.name)
    thread.join(15)

    assert not thread.is_alive()
    assert seen == [(spec.labels[names.AGENT], action) for action in wanted]


def test_a_log_is_read_on_from_where_it_was_left(rig, running):
    rig.say(running, *(f"line {number}" for number in range(200)))
    whole = rig.engine.log_tail(running, 1000)[-200:]
    assert [line.text for line in whole] == [f"line {number}" for number in range(200)]
    assert [line.at for line in whole] == sorted({line.at for line in whole})

    for left in (0, 1, 57, 150, 198):
        rest = itertools.islice(rig.engine.log_follow(running, whole[left].at), 199 - left)
        assert list(rest) == whole[left + 1 :]


def test_a_log_is_followed_across_stop_and_start(rig, running):
    rig.say(running, "before")
    last = rig.engine.log_tail(running, 1)[0]
    rig.engine.ensure_stopped(running, 5)
    assert [line.text for line in rig.engine.log_follow(running, last.at)] == []

    rig.engine.ensure_started(running)
    rig.say(running, "after")

    texts = (line.text for line in rig.engine.log_follow(running, last.at))
    rest = list(itertools.takewhile(lambda text: text != "after", texts))
    assert set(rest) <= {"up", "before"}
    assert len(rest) == len(set(rest))


def test_a_tail_is_as_long_as_asked_for(rig, running):
    rig.say(running, "one", "two", "three")

    assert [line.text for line in rig.engine.log_tail(running, 2)] == ["two", "three"]


LONG = "x" * 50_000
TALK = f"""
import sys
print({LONG!r}, flush=True)
print("short", flush=True)
print({"é" * 40_000!r}, flush=True)
print("aside", file=sys.stderr, flush=True)
print("z" * 200_000, flush=True)
sys.stdout.write("last words")
"""


def test_long_lines_are_whole_and_last_words_are_not_lost(rig):
    """The engine keeps them in pieces, and may leave out the newline of the last."""
    if isinstance(rig, FakeRig):
        assert rig.engine.log_tail("roost-none", 1) == []
        return
    rig.program.write_text(TALK)
    spec = rig.spec()
    rig.engine.ensure_created(spec)
    rig.engine._api.update_container(spec.name, restart_policy={"Name": "no"})
    rig.engine._api.start(spec.name)
    until(rig, spec.name, lambda seen: seen.state == "exited")

    lines = list(rig.engine.log_follow(spec.name, ""))

    assert [line.text for line in lines if line.text != "aside"] == [
        LONG, "short", "é" * (MOST // 2), "z" * MOST, "last words",
    ]  # fmt: skip
    assert "aside" in {line.text for line in lines}
    assert rig.engine.log_tail(spec.name, 1)[0].text == "last words"
    # What is said aside has a time of its own, and no place among the others for certain.
    *_, before, last = sorted(lines, key=lambda line: engine_time(line.at))
    assert list(rig.engine.log_follow(spec.name, before.at)) == [last]


def test_a_silent_log_ends_now_and_then(rig, running, monkeypatch):
    """Or a reader who has gone would be kept for as long as nothing is said."""
    monkeypatch.setattr(docker_engine, "SILENCE", 0.5)
    rig.say(running, "one")
    began = time.monotonic()

    assert [line.text for line in rig.engine.log_follow(running, "")][-1] == "one"
    assert time.monotonic() - began < 5


def test_who_lost_its_network_is_told_apart(rig, running):
    if isinstance(rig, DockerRig):
        assert rig.engine.inspect(running).connected
        rig.engine._api.disconnect_container_from_network(running, NETWORK.name, force=True)
    else:
        rig.engine.disconnect(running)

    assert not rig.engine.inspect(running).connected
    assert not rig.engine.containers(MINE)[0].connected


def test_a_stopped_container_finds_a_network_that_was_made_anew(rig, running):
    rig.engine.ensure_stopped(running, 5)
    rig.engine.ensure_network_removed(NETWORK.name)
    rig.engine.ensure_network(NETWORK)

    rig.engine.ensure_started(running)

    assert rig.engine.inspect(running).up


# --- Docker alone


@pytest.fixture
def collected():
    """The SDK leaves the socket of a failed call to the garbage collector."""
    yield
    gc.collect()


UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@UNCLOSED
def test_an_engine_that_is_not_there_is_away_at_once(monkeypatch, tmp_path, collected):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    engine = DockerEngine()
    began = time.monotonic()

    for verb in (
        engine.ping,
        lambda: engine.inspect("x"),
        lambda: engine.containers(MINE),
        lambda: engine.ensure_started("x"),
        lambda: engine.ensure_stopped("x", 1),
        lambda: engine.ensure_removed("x"),
        lambda: engine.has_image("x"),
        lambda: engine.log_tail("x", 1),
        lambda: list(engine.log_follow("x", "")),
        lambda: list(engine.events(MINE, 0)),
    ):
        with pytest.raises(EngineUnavailable):
            verb()

    assert time.monotonic() - began < 2


@UNCLOSED
def test_an_engine_that_hangs_is_away_after_the_time_out(monkeypatch, hanging_engine, collected):
    monkeypatch.setattr(docker_engine, "TIMEOUT", 0.3)
    began = time.monotonic()

    with pytest.raises(EngineUnavailable):
        DockerEngine().inspect("x")

    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T07:12:56.123456789Z", "1796022776.123456789"),
        ("2026-11-30T07:12:56.1Z", "1796022776.100000000"),
        ("2026-11-30T07:12:56Z", "1796022776.000000000"),
    ],
)
def test_times_are_passed_to_the_engine_to_the_nanosecond(text, expected):
    assert engine_time(text) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-30", "2026-11-30T07:12:56+02:00", "1"])
def test_other_times_are_refused(text):
    with pytest.raises(ValueError, match="not a time of ours"):
        engine_time(text)
