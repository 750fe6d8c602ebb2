"""What operators are told of the room that all workspaces share."""

import pytest
from django.test import Client
from django.utils.timezone import now

from controlplane.tenants.models import User
from provisioner import pool, rounds
from provisioner.models import Node
from provisioner.workspaces.base import Pool
from tests.provisioner.test_rounds import settled

pytestmark = pytest.mark.django_db

GIB = 1024**3


def beaten(backend, free: float, total: float = 100) -> Node:
    """The node's row after a beat, a measurement and the next beat."""
    backend.workspaces.pool = Pool(int(total * GIB), int(free * GIB), 2 * GIB)
    rounds.beat(backend)
    pool.note(backend)
    rounds.beat(backend)
    return Node.objects.get()


def of_pool(node: Node) -> list[str]:
    return [sentence for sentence in node.weaknesses if "pool of workspaces" in sentence]


def test_the_figures_are_the_nodes(acme, backend):
    settled(acme, 3, workspace_made_at=now())
    settled(acme, 1)  # it has no disk yet

    node = beaten(backend, 60)

    assert (node.pool_total, node.pool_free, node.pool_reserve) == (100 * GIB, 60 * GIB, 2 * GIB)
    assert node.pool_promised == 3 * GIB
    assert of_pool(node) == []


def test_little_room_is_told_with_how_often_it_is_promised(acme, backend):
    settled(acme, 250, workspace_made_at=now())

    (sentence,) = of_pool(beaten(backend, 9))

    assert "9.0 of 100.0 GiB left" in sentence
    assert "2.5 times the pool" in sentence


def test_below_the_reserve_it_is_told_that_new_ones_are_refused(backend):
    (sentence,) = of_pool(beaten(backend, 1.5, total=10))

    assert "new workspaces are refused" in sentence
    assert of_pool(beaten(backend, 5, total=10)) == []


def test_without_a_pool_nothing_is_told(backend):
    rounds.beat(backend)
    pool.note(backend)

    assert Node.objects.get().pool_total is None
    assert pool.weaknesses(Node.objects.get()) == []
    assert pool.weaknesses(None) == []


def test_the_admin_shows_it(acme, backend):
    settled(acme, 200, workspace_made_at=now())
    beaten(backend, 60)
    client = Client()
    client.force_login(User.objects.create_superuser("ops@example.test", "correct horse"))

    for page in ("/admin/provisioner/node/", "/admin/provisioner/node/node-1/change/"):
        shown = client.get(page).content.decode()
        assert "60.0 of 100.0 GiB free, 2.0 of it in reserve" in shown
        assert "200.0 GiB, 2.0 times the pool" in shown
