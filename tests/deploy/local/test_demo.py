"""The wait for the demo agent, against a small server that shows one agent."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from deploy.local import demo, files, services
from deploy.local.credentials import Credentials
from deploy.local.errors import ProgramFailed
from deploy.local.layout import Installation
from deploy.local.stack import Stack

FACTS = {"org": "org_a", "agent": "agt_b", "token": "rst_c"}


class Api(BaseHTTPRequestHandler):
    shown: dict[str, object] = {}
    answers = True

    def do_GET(self) -> None:
        agent = "/api/v1/orgs/org_a/agents/agt_b"
        right = self.path == agent or (self.path == f"{agent}/messages" and self.answers)
        known = self.headers["Authorization"] == "Bearer rst_c"
        self.send_response(200 if right and known else 404)
        self.end_headers()
        self.wfile.write(json.dumps(self.shown).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def own(installation: Installation) -> Iterator[Stack]:
    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        given = Credentials()
        served = replace(installation, port=server.server_port)
        facts = services.addresses(services.of(served, given), given)
        yield Stack(served, given, facts, "10.99.255.1")
        server.shutdown()
        thread.join()


def test_an_agent_that_does_not_come_up_says_its_own_reason(own: Stack) -> None:
    Api.shown = {"status": "failed", "message": "The image is missing."}
    with pytest.raises(
        ProgramFailed, match=r"does not answer after 1 s; it is failed: The image is missing\."
    ):
        demo.wait_running(own, FACTS, seconds=1)


def test_a_running_agent_ends_the_wait(own: Stack) -> None:
    Api.shown = {"status": "running"}
    demo.wait_running(own, FACTS, seconds=5)
    with pytest.raises(ProgramFailed, match="it is unknown: the API did not show it"):
        demo.wait_running(own, {**FACTS, "token": "wrong"}, seconds=0.4)


def test_a_status_from_before_the_start_is_not_believed(
    own: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    Api.shown = {"status": "running"}
    monkeypatch.setattr(Api, "answers", False)
    with pytest.raises(ProgramFailed, match="does not answer after 1 s; it is running"):
        demo.wait_running(own, FACTS, seconds=1)


def test_an_agent_that_people_stopped_is_left_alone(own: Stack) -> None:
    Api.shown = {"status": "stopped", "goal": "stopped"}
    assert demo.wait_running(own, FACTS, seconds=5) == "left stopped, as it was told"


def test_a_demo_that_is_still_there_is_not_made_again(own: Stack) -> None:
    Api.shown = {"status": "stopped"}
    path = own.installation.state_dir / "local.json"
    files.write_json(path, FACTS)
    told = demo.ensure(own)
    assert {name: told[name] for name in FACTS} == FACTS
    assert told["admin_password"] == own.credentials.admin_password
    assert files.read_json(path) == told
    assert path.stat().st_mode & 0o777 == 0o600
