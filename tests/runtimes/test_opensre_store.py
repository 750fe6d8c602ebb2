"""What outlives a kill, and how much of it is told again."""

import sqlite3
from pathlib import Path

import pytest

from runtimes.opensre.host.engine import Finding, Said
from runtimes.opensre.host.store import MOST_CONTEXT, MOST_CONTEXT_MESSAGES, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "roost.db")
    store.open("main", "Main")
    return store


def test_what_was_said_is_there_after_a_kill(tmp_path: Path, store: Store) -> None:
    store.say("main", "user", "hello")
    again = Store(tmp_path / "roost.db")  # the first was never closed
    assert [row["text"] for row in again.history("main")] == ["hello"]


def test_every_write_waits_for_the_disk(store: Store) -> None:
    assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_opening_again_keeps_the_title(store: Store) -> None:
    store.open("main", "Another")
    assert [row["title"] for row in store.conversations()] == ["Main"]


def test_the_conversation_used_last_comes_first(store: Store) -> None:
    store.begin("inv_1", "Down", "Investigate this")
    store.say("main", "user", "hello")
    assert [(row["id"], row["messages"]) for row in store.conversations()] == [
        ("main", 1),
        ("inv_1", 1),
    ]


def test_a_message_to_no_conversation_is_not_half_kept(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.say("nowhere", "user", "hello")
    assert store.history("nowhere") == []


def test_the_context_ends_with_the_message_to_answer(store: Store) -> None:
    first = store.say("main", "user", "one")
    second = store.say("main", "user", "two")
    store.say("main", "assistant", "to one")
    assert store.context("main", first)[-1] == Said("user", "one")
    assert store.context("main", second) == [
        Said("user", "one"),
        Said("assistant", "to one"),
        Said("user", "two"),
    ]


def test_a_long_conversation_is_told_from_where_it_fits(store: Store) -> None:
    for number in range(MOST_CONTEXT_MESSAGES + 5):
        last = store.say("main", "user", str(number))
    told = store.context("main", last)
    assert len(told) == MOST_CONTEXT_MESSAGES
    assert (told[0].text, told[-1].text) == ("5", str(MOST_CONTEXT_MESSAGES + 4))


def test_long_messages_push_the_older_ones_out_but_never_the_last(store: Store) -> None:
    store.say("main", "user", "old")
    last = store.say("main", "user", "x" * (MOST_CONTEXT + 1))
    assert [len(said.text) for said in store.context("main", last)] == [MOST_CONTEXT + 1]


def test_a_finished_investigation_is_not_interrupted(store: Store) -> None:
    store.begin("inv_1", "Down", "Investigate this")
    store.found("inv_1", Finding("The disk.", "# Report"))
    store.interrupt()
    assert [row["status"] for row in store.investigations()] == ["completed"]


def test_half_a_letter_of_a_model_is_kept_as_a_question_mark(store: Store) -> None:
    store.begin("inv_1", "Down \ud800", "Investigate this")
    store.found("inv_1", Finding("\ud800", "\ud800"))
    found = store.investigation("inv_1")
    assert found is not None
    assert (found["title"], found["root_cause"], found["report"]) == ("Down ?", "?", "?")
