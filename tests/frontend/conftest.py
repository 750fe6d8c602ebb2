"""The cast in front of a browser, and a gateway that says what a test wants it to say."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_key
from controlplane.keys.models import Key
from controlplane.tenants.access import Access
from controlplane.tenants.models import Organisation, User
from provisioner.models import Node

VALUE = "sk-ant-" + "s3cret" * 8


@pytest.fixture
def node(db: None) -> Node:
    return Node.objects.create(name=django_settings.ROOST_NODE, heartbeat_at=now())


@pytest.fixture
def acme(acme: Organisation, node: Node) -> Organisation:
    """Acme, on a node that reports."""
    return acme


@pytest.fixture
def alice_web(acme: Organisation, alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def bob_web(acme: Organisation, bob: User) -> Client:
    return signed_in(bob)


@pytest.fixture
def charlie_web(umbrella: Organisation, charlie: User) -> Client:
    return signed_in(charlie)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def agent(as_alice: Access) -> Agent:
    return create_agent(as_alice, name="heron", runtime="hermes")


@pytest.fixture
def key(as_alice: Access) -> Key:
    return add_key(as_alice, name="anthropic-test", provider="anthropic", value=VALUE)


@dataclass
class FakeGateway:
    """Answers by the last part of the path; a number is a status with a problem."""

    url: str = ""
    says: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def gateway(settings: Any) -> Iterator[FakeGateway]:
    fake = FakeGateway()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            verb = self.path.partition("?")[0].rpartition("/")[2]
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fake.asked.append((self.path, body.decode()))
            name = "stream" if self.command == "POST" else verb
            says = fake.says.get(name, {})
            refused = isinstance(says, tuple)
            self.send_response(says[0] if refused else 200)
            self.end_headers()
            rows = [says[1]] if refused else says if isinstance(says, list) else [says]
            self.wfile.write("".join(json.dumps(row) + "\n" for row in rows).encode())

        do_POST = do_GET  # noqa: N815  the name is http.server's

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    settings.GATEWAY_URL = fake.url = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    server.server_close()
    thread.join()
