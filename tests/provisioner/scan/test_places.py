"""A value in any place is found and named; without one, every place says what it looked at."""

import base64
import json

import pytest
import redis
from django.db import connection

from controlplane.agents.models import Event
from provisioner.scan.places import OWN, SPOTS, host
from provisioner.scan.walking import UNREADABLE
from provisioner.workspaces.base import Kept
from tests.provisioner.scan.conftest import KEY, found, found_for_operators, told_to_operators

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "gateway token"
FOLDERS = {  # place: where its folder is
    "workspace": "workspace",
    "copies": "copies",
    "image": "image",
    "container": "container",
    "engine": "metadata",
}
SHARED_FOLDERS = {
    "networks": "networks",
    "own_logs": "state/log",
    "own_files": "state/run",
    "database_files": "state/postgres",
    "queue_files": "state/valkey",
    "vault_files": "state/openbao",
}


def test_without_a_value_anywhere_all_is_well(scan):
    done = scan()

    assert (done.status, done.findings, done.found_nothing) == ("done", 0, True)
    assert found(done) == []


def test_every_place_says_what_it_looked_at_or_why_not(scan):
    places = scan().report["report"]["places"]

    assert [place["place"] for place in places] == [spot.name for spot in SPOTS]
    for place in places[: len(OWN)]:
        assert place["why"] if not place["looked_at"] else place["bytes"] >= 0


@pytest.mark.parametrize("name", FOLDERS)
def test_a_planted_value_is_found_with_its_file(scan, node, name):
    node.plant(f"{FOLDERS[name]}/deep", b"x=" + base64.b64encode(KEY.encode()))

    done = scan()

    ((place, path),) = found(done)
    assert place == name
    assert path.endswith("deep/notes.txt")
    assert (done.findings, done.found_nothing) == (1, False)


@pytest.mark.parametrize("name", SHARED_FOLDERS)
def test_one_in_a_shared_place_is_found_for_operators(scan, node, name):
    node.plant(f"{SHARED_FOLDERS[name]}/deep", b"x=" + base64.b64encode(KEY.encode()))

    done = scan()

    ((place, path),) = found_for_operators(done)
    assert place == name
    assert path.endswith("deep/notes.txt")
    assert (done.findings, found(done)) == (0, [])


@pytest.mark.parametrize("file", ["container.log", "container.log.1.gz"])
def test_a_value_in_the_log_is_found(scan, node, file):
    node.plant("logs", KEY.encode(), file)

    assert [place for place, _ in found(scan())] == ["logs"]


def test_a_log_nobody_may_read_is_asked_of_the_engine(scan, kept, backend, container, monkeypatch):
    backend.engine.say(container, f"my key is {KEY}")
    monkeypatch.setattr("provisioner.scan.places.trees.walk", refuse)

    done = scan()

    assert ("logs", "the engine's log") in found(done)
    assert "Run the node as root" in json.dumps(done.report)


def refuse(*args, **options):
    raise PermissionError


def test_what_the_engine_tells_is_looked_at(scan, backend, container):
    backend.engine.footprints[container].told["inspect"] = json.dumps({"Env": [KEY]}).encode()

    assert found(scan()) == [("engine", "the engine's inspect")]


def test_a_row_of_the_database_is_found_with_its_column(scan, kept):
    event = Event.objects.create(agent=kept, kind="odd", title="odd", detail=f"it said {KEY}")

    done = scan()

    path = f'table "public"."agents_event", row {event.pk}, column detail'.replace('"', "")
    assert found(done) == [("database", path.replace("public.", ""))]
    assert done.report["report"]["findings"][0]["offset"] == len("it said ")


def test_a_table_that_is_not_ours_is_looked_at_too(scan):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE odd (id text, body bytea, gone text)")
        cursor.execute("ALTER TABLE odd DROP COLUMN gone")
        cursor.execute("INSERT INTO odd VALUES ('one', %s)", [b"\xff" + KEY.encode()])
    try:
        done = scan()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE odd")

    assert found(done) == []
    assert found_for_operators(done) == [("database_rest", "table odd, row one, column body")]


@pytest.fixture
def queue(services):
    with redis.Redis.from_url(services["REDIS_URL"]) as client:
        yield client
        client.flushall()


@pytest.mark.parametrize("kind", ["string", "list", "set", "zset", "hash", "stream"])
def test_a_key_of_the_queue_is_found(scan, queue, kind):
    write = {
        "string": lambda: queue.set("odd", KEY),
        "list": lambda: queue.rpush("odd", *["other"] * 250, KEY),
        "set": lambda: queue.sadd("odd", "other", KEY),
        "zset": lambda: queue.zadd("odd", {KEY: 1}),
        "hash": lambda: queue.hset("odd", KEY, "field"),
        "stream": lambda: queue.xadd("odd", {"field": KEY}),
    }
    write[kind]()

    assert found_for_operators(scan()) == [("queue", "key odd")]


def test_a_message_that_waits_is_found_in_its_base64(scan, queue):
    body = base64.b64encode(json.dumps([["agt_x", KEY], {}]).encode()).decode()
    queue.lpush("node.node-1", json.dumps({"body": body}))

    assert found_for_operators(scan()) == [("queue", "key node.node-1")]


def test_other_databases_of_the_queue_are_looked_at(scan, queue, services):
    with redis.Redis.from_url(f"{services['REDIS_URL']}?db=5") as other:
        other.set(f"{KEY}:lock", "1")

    assert found_for_operators(scan()) == [("queue", "key ***:lock")]


def test_a_queue_that_is_away_is_told(scan, node, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    done = scan()

    assert "The queue does not answer" in json.dumps(told_to_operators(done))
    assert "does not answer" not in json.dumps(done.report)
    assert done.found_nothing


def test_an_engine_that_is_away_is_told_and_the_rest_is_looked_at(scan, backend, node, monkeypatch):
    node.plant("workspace", KEY.encode())
    monkeypatch.setattr(backend.engine, "silent", True)

    done = scan()

    assert [place for place, _ in found(done)] == ["workspace"]
    reasons = [one.get("why") for one in done.report["report"]["places"]]
    assert reasons.count("The engine does not answer.") == 4


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """Processes of a host: ours, and one of a container."""
    root = tmp_path / "proc"
    for number, space, command, environment in [
        ("self", "pid:[1]", b"", b""),
        ("10", "pid:[1]", b"node\0--quiet", b"HOME=/"),
        ("11", "pid:[2]", b"agent", b"KEY=" + KEY.encode()),
    ]:
        (root / number / "ns").mkdir(parents=True)
        (root / number / "ns" / "pid").symlink_to(space)
        (root / number / "comm").write_text("program\n")
        (root / number / "cmdline").write_bytes(command)
        (root / number / "environ").write_bytes(environment)
    (root / "swaps").write_text("Filename Type Size Used Priority\n")
    monkeypatch.setattr(host, "PROC", root)
    return root


def test_an_agents_own_environment_may_hold_its_keys(scan, proc):
    assert found_for_operators(scan()) == []


@pytest.mark.parametrize(
    ("file", "part"), [("10/cmdline", "command line"), ("10/environ", "environment"),
                       ("11/cmdline", "command line")],
)  # fmt: skip
def test_a_process_is_found_by_its_number(scan, proc, file, part):
    (proc / file).write_bytes(b"X=1\0KEY=" + KEY.encode())

    assert found_for_operators(scan()) == [("processes", f"process {file[:2]} (program), {part}")]


def test_swap_is_told(scan, proc):
    (proc / "swaps").write_text("Filename Type Size Used Priority\n/dev/sdb partition 9 0 -2\n")

    told = told_to_operators(scan())["places"][-1]["why"]

    assert told.startswith("This node swaps to /dev/sdb")


def test_a_workspace_that_is_not_mounted_is_told(scan, kept, backend):
    backend.workspaces.places[kept.pk] = Kept()

    places = scan().report["report"]["places"]

    assert places[0]["why"].startswith("It is not mounted now")


def test_a_file_that_cannot_be_read_is_counted(scan, node, monkeypatch):
    node.plant("workspace", b"text")
    monkeypatch.setattr("provisioner.scan.walking.look_at", refuse)

    assert UNREADABLE in json.dumps(scan().report)
