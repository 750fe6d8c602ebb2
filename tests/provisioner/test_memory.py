"""Whether the database went back: noticed by the node, found by whoever asks, told once."""

import os

import pytest
from django.utils.timezone import now

from controlplane.audit.models import AuditEvent
from provisioner import memory, rounds
from provisioner.models import Node
from tests.provisioner.strays.conftest import OSCAR

pytestmark = pytest.mark.django_db(transaction=True)


def test_rounds_are_counted_on_both_sides(settings, tmp_path, db):
    settings.ROOST_STATE_DIR = tmp_path

    assert [memory.compare() for _ in range(3)] == [False, False, False]
    assert (Node.objects.get().serial, memory.path().read_text()) == (3, "3")


def test_a_lost_file_is_no_sign_of_anything(settings, tmp_path, db):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    memory.path().unlink()

    assert memory.compare() is False
    memory.path().write_text("")
    assert memory.compare() is False


def test_a_database_that_went_back_is_noticed_once_and_told(restored, backend):
    since = restored.database_older_since
    assert memory.compare() is False  # the counts agree again
    rounds.beat(backend)

    row = Node.objects.get()
    assert row.database_older_since == since
    assert any("older than what it has done" in one for one in row.weaknesses)
    assert AuditEvent.objects.filter(action="node.database_went_back").count() == 1


def test_a_database_that_was_lost_whole_is_noticed(settings, tmp_path, db):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    Node.objects.all().delete()

    assert memory.compare() is True


def test_a_worker_that_starts_before_the_node_finds_it_too(settings, tmp_path, db):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    assert memory.older_since() is None
    Node.objects.update(serial=0)

    assert memory.older_since() <= now()
    Node.objects.all().delete()
    assert memory.older_since() <= now()


def test_a_full_disk_keeps_no_node_from_starting(settings, tmp_path, db, caplog):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    part = memory.path().with_name(f".{memory.path().name}.{os.getpid()}")
    part.symlink_to("/dev/full")

    assert memory.compare() is False
    assert "does not remember this round" in caplog.text
    assert (Node.objects.get().serial, memory.path().read_text()) == (2, "1")


def test_each_name_of_a_node_has_a_count_of_its_own(settings, tmp_path, db):
    settings.ROOST_STATE_DIR = tmp_path
    memory.compare()
    settings.ROOST_NODE = "another"

    assert memory.compare() is False
    assert memory.older_since() is None


def test_an_operator_says_that_it_is_right(restored, settings):
    assert memory.trust(OSCAR, settings.ROOST_NODE) is True
    assert memory.trust(OSCAR, settings.ROOST_NODE) is False
    assert memory.older_since() is None
