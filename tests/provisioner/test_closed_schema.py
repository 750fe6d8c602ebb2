"""Whatever people ask for, by whatever path, the container stays inside the closed schema; what is
refused changes nothing. The real API, actions and passes, with the engine that only remembers."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.utils.timezone import now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.agents import releases
from controlplane.agents.models import Agent
from controlplane.keys.actions import add_key
from controlplane.tenants.models import Organisation
from controlplane.upgrades.models import Upgrade
from controlplane.upgrades.moving import switch
from provisioner.backend import Backend, fake_backend
from provisioner.reconcile import reconcile
from runtimes.catalog import CATALOG
from runtimes.references import image_of
from tests.controlplane.looking import everything
from tests.provisioner.sending import assert_inside, sent

pytestmark = pytest.mark.django_db

# Paperclip's first run talks to the container, which here is only remembered.
RUNTIMES = sorted(slug for slug, runtime in CATALOG.items() if runtime.setup is None)
IMAGES = {image_of(runtime) for runtime in CATALOG.values()}
NEXT = "roost/hermes:99.0.0-0123456789ab"  # after an upgrade of the catalogue
KEY, GOOD_HOSTS = "<key>", ["api.github.com", "*.example.com", "db.example.com:5432"]
EVIL = ["", " ", "runsc", "privileged", "host", "../../etc", "/var/run/docker.sock", "$(id)",
        "a\nb", "a;b", "--privileged", "64g", "10.0.0.1", "*", "x" * 300, "\x00", "0"]  # fmt: skip
evil: st.SearchStrategy[Any] = st.sampled_from(EVIL) | st.integers(-5, 2**40) | st.booleans()
evil |= st.lists(st.sampled_from(EVIL), max_size=2) | st.just({"Privileged": True}) | st.none()
# What no request may name, in our words and in the engine's.
FOREIGN = ["privileged", "image", "org", "organisation", "status", "node", "plan", "goal", "user",
           "cap_add", "binds", "mounts", "volumes", "devices", "network", "network_mode",
           "pid_mode", "ipc_mode", "security_opt", "command", "entrypoint", "environment", "env",
           "labels", "memory_mb", "cpu_millis", "pids", "runtime_version", "release", "id", "x",
           "HostConfig", "Privileged", "seccomp", "tmp_mb", "restart_policy"]  # fmt: skip


def mostly(*good: Any) -> st.SearchStrategy[Any]:
    return st.integers(0, 20).flatmap(lambda n: evil if n == 20 else st.sampled_from(good))


FIELDS = {
    "name": mostly("scout", "scribe", "a"),
    "key": mostly(KEY),
    "model": mostly("claude-sonnet-4-5", "m/1:x@y+z"),
    "size": mostly("small", "medium", "large"),
    "egress": mostly("open", "list", "none"),
    "egress_hosts": st.lists(mostly(*GOOD_HOSTS), max_size=3),
    "isolation": mostly("default", "gvisor"),
    "background": mostly(True, False),
}
foreign = st.dictionaries(st.sampled_from(FOREIGN), evil, min_size=1, max_size=2)
sometimes_foreign = st.integers(0, 9).flatmap(lambda n: foreign if n == 9 else st.just({}))
created = st.fixed_dictionaries(
    {"runtime": mostly(*RUNTIMES), "name": FIELDS["name"]},
    optional={name: field for name, field in FIELDS.items() if name != "name"}
    | {"disk_gib": mostly(1, 5, 10)},
)
changed = st.fixed_dictionaries({}, optional=FIELDS)
VERBS = ["upgrade", "enlarge", "patch", "restart", "stop", "start", "bring back", "restore"]
steps = st.lists(
    st.tuples(st.sampled_from(VERBS), changed, sometimes_foreign), min_size=1, max_size=5
)
quiet = settings(
    deadline=None,
    max_examples=50,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Tenant:
    """Asks as a customer does, lets the worker act, and looks at what the engine was given."""

    def __init__(self, api: Any, org: Organisation, key: str) -> None:
        self.api, self.key = api, key
        self.agents = f"/api/v1/orgs/{org.pk}/agents"
        self.backend: Backend = fake_backend()
        self.backend.engine.offered = ("default", "gvisor")

    def ask(self, method: str, path: str, body: dict[str, Any]) -> int:
        before = everything()
        text = json.dumps(
            {name: self.key if value == KEY else value for name, value in body.items()}
        )
        response = self.api.generic(method, path, text, "application/json")
        assert response.status_code < 500, response.content
        if response.status_code >= 400:
            assert everything() == before
        return int(response.status_code)

    def switch(self) -> None:
        """What an upgrade's job does once all was looked at."""
        for upgrade in Upgrade.objects.under_way():
            switch(upgrade)
            Upgrade.objects.filter(pk=upgrade.pk).update(status="done", outcome="kept")

    def turn(self, path: str, verb: str, body: dict[str, Any], extra: dict[str, Any]) -> list[int]:
        """One thing that is done to an agent, and what becomes of it."""
        asked = {
            "patch": [("PATCH", "", body | extra)],
            "enlarge": [("PATCH", "", {"size": "large"} | extra)],
            "bring back": [
                ("DELETE", "", {}),
                ("POST", "/restore", extra),
                ("POST", "/start", extra),
            ],
        }.get(verb, [("POST", f"/{verb}", extra)])
        codes = []
        for method, rest, sent_body in asked:
            codes.append(self.ask(method, path + rest, sent_body))
            self.switch()
            self.work()
        return [code for code, (method, *_) in zip(codes, asked, strict=True) if method != "DELETE"]

    def work(self) -> None:
        for agent_id in Agent.objects.values_list("pk", flat=True):
            Agent.objects.filter(pk=agent_id).update(due_at=now())
            for _ in range(3):
                reconcile(agent_id, self.backend)
        for spec in self.backend.engine.specs.values():
            assert_inside(sent(spec), state="/nowhere", images=IMAGES | {NEXT})


@pytest.fixture
def tenant(alice_api, acme, as_alice) -> Tenant:
    key = add_key(as_alice, name="main", provider="anthropic", value="sk-ant-0123456789abcdef")
    return Tenant(alice_api, acme, key.pk)


def test_no_sequence_of_requests_leaves_it(tenant, monkeypatch):
    reached = {"create": 0, "replaced": 0, "upgraded": 0}

    @quiet
    @given(first=created, then=steps, odd=sometimes_foreign)
    def live(first: dict[str, Any], then: list[Any], odd: dict[str, Any]) -> None:
        with transaction.atomic(), monkeypatch.context() as patched:
            tenant.backend.engine.specs.clear()
            tenant.backend.engine.kept.clear()
            code = tenant.ask("POST", tenant.agents, first | odd)
            assert code == 422 or not odd
            tenant.work()
            agent = Agent.objects.first()
            for verb, body, extra in then if agent else ():
                if verb == "upgrade":
                    patched.setattr(releases, "image_of", lambda runtime: NEXT)
                codes = tenant.turn(f"{tenant.agents}/{agent.pk}", verb, body, extra)
                assert min(codes) >= 400 or not extra
            reached["create"] += agent is not None
            specs = tenant.backend.engine.specs.values()
            reached["upgraded"] += any(spec.image == NEXT for spec in specs)
            reached["replaced"] += any(
                spec.labels["roost.release"] != "1" for spec in tenant.backend.engine.specs.values()
            )
            transaction.set_rollback(True)

    live()
    assert min(reached.values()) > 5, "the requests were refused too often to show anything"


@pytest.mark.parametrize("field", FOREIGN)
def test_a_field_that_is_not_peoples_is_refused_by_name(tenant, field):
    """T5, for create and for change."""
    assert tenant.ask("POST", tenant.agents, {"name": "scout", "runtime": "hermes"}) == 202
    agent = Agent.objects.get()
    body = {"name": "other", "runtime": "hermes", field: "x"}

    assert tenant.ask("POST", tenant.agents, body) == 422
    assert tenant.ask("PATCH", f"{tenant.agents}/{agent.pk}", {"model": "m", field: "x"}) == 422
