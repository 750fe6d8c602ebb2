"""What changed between two snapshots, as the node tells it."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.snapshots.models import Snapshot
from frontend.diffs import MOST, lines_of, shown

PAGE = "/acme/agents/heron/snapshots/compare"
FOUND = {
    "added": [{"path": r"odd\xff\x0a<b>", "kind": "file", "size": 2048}],
    "changed": [{"path": "a.txt", "kind": "file", "size_before": 1, "size_after": 3 * 1024}],
    "removed": [{"path": "old", "kind": "folder", "size": 0}],
    "touched": [{"path": "same", "kind": "file"}],
    "totals": {"added": 1, "changed": 1, "removed": 1, "touched": 1},
    "truncated": False, "next": None,
}  # fmt: skip
KINDS = ("added", "changed", "removed", "touched")
NOTHING = FOUND | {kind: [] for kind in KINDS} | {"totals": dict.fromkeys(KINDS, 0)}


def make(agent, hours, **changes) -> Snapshot:
    columns = {"requested_by": "Alice", "release": 1, "disk_gib": 5, "on_node": True,
               "status": "done", "manifest_sha256": "a" * 64,
               "taken_at": now() - timedelta(hours=hours)}  # fmt: skip
    return Snapshot.objects.create(agent=agent, **columns | changes)


@pytest.fixture
def pair(agent) -> tuple[str, str]:
    return make(agent, 5).pk, make(agent, 1).pk


def text(response) -> str:
    return " ".join(response.content.decode().split())


def test_paths_are_told_with_their_sizes_and_escaped(alice_web, pair, gateway):
    gateway.says["diff"] = FOUND

    page = text(alice_web.get(PAGE, {"from": pair[0], "to": pair[1]}))

    assert "1 added, 1 changed, 1 removed; 1 with the same content" in page
    assert r"<code>odd\xff\x0a&lt;b&gt;</code>" in page
    assert "1 bytes → 3.0 KiB" in page
    assert "path=odd%5Cxff%5Cx0a%3Cb%3E" in page
    assert page.count(">Show</a>") == 2, "not of folders, nor of what has the same content"
    assert f"/snapshots/{pair[1]}/diff?against={pair[0]}&cursor=0" in gateway.asked[0][0]


def test_without_a_first_one_it_is_the_one_before_on_the_node(alice_web, agent, pair, gateway):
    gateway.says["diff"] = NOTHING
    make(agent, 3, on_node=False, verified_at=now())

    page = text(alice_web.get(PAGE, {"to": pair[1]}))

    assert "Nothing changed" in page
    assert f"against={pair[0]}" in gateway.asked[0][0]


@pytest.mark.parametrize("query", [{"to": 0}, {"from": 1, "to": 1}])
def test_what_makes_no_pair_says_so(alice_web, pair, gateway, query):
    page = text(alice_web.get(PAGE, {name: pair[n] for name, n in query.items()}))

    assert "Not to be compared" in page
    assert gateway.asked == []


def test_a_long_list_goes_on(alice_web, pair, gateway):
    gateway.says["diff"] = FOUND | {"truncated": True, "next": 200}

    page = text(alice_web.get(PAGE, {"from": pair[0], "to": pair[1]}))

    assert "&amp;cursor=200" in page


def test_what_the_node_refuses_is_said(alice_web, pair, gateway):
    gateway.says["diff"] = (409, {"code": "snapshot_not_on_node", "message": "Only off-site."})

    assert "Only off-site." in text(alice_web.get(PAGE, {"from": pair[0], "to": pair[1]}))


def test_a_silent_gateway_leaves_the_page(alice_web, pair, settings):
    settings.GATEWAY_URL = "http://127.0.0.1:1"

    page = text(alice_web.get(PAGE, {"from": pair[0], "to": pair[1]}))

    assert "They cannot be compared right now." in page


@pytest.mark.parametrize("part", ["", "/text"])
@pytest.mark.parametrize("wrong", ["", "snp_none", "a b", "\0"])
def test_what_is_not_there_is_not_found(alice_web, pair, gateway, part, wrong):
    assert alice_web.get(PAGE + part, {"from": pair[0], "to": wrong}).status_code == 404
    assert gateway.asked == []


@pytest.mark.parametrize("part", ["", "/text"])
def test_another_agents_is_not_compared_with(alice_web, as_alice, pair, gateway, part):
    """T4: also within the same organisation."""
    theirs = make(create_agent(as_alice, name="other", runtime="hermes"), 2).pk

    assert alice_web.get(PAGE + part, {"from": theirs, "to": pair[1]}).status_code == 404
    assert alice_web.get(PAGE + part, {"from": pair[0], "to": theirs}).status_code == 404
    assert gateway.asked == []


def test_a_stranger_finds_nothing(charlie_web, pair, gateway):
    assert charlie_web.get(PAGE, {"from": pair[0], "to": pair[1]}).status_code == 404


def test_the_text_of_a_file_is_a_part_or_a_page(alice_web, pair, gateway):
    diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+<script>\n"
    gateway.says["text"] = {"path": "a", "diff": diff, "why": ""}
    query = {"from": pair[0], "to": pair[1], "path": "a"}

    part = text(alice_web.get(f"{PAGE}/text", query, headers={"HX-Request": "true"}))
    page = text(alice_web.get(f"{PAGE}/text", query))

    assert part.startswith('<div class="diff"')
    assert '<tr class="add"><td class="n"></td><td class="n">2</td>' in part
    assert "&lt;script&gt;" in part
    assert "<html" in page


def test_why_there_is_no_text(alice_web, pair, gateway):
    gateway.says["text"] = {"path": "a", "diff": "", "why": "It is no text (UTF-8)."}

    page = text(alice_web.get(f"{PAGE}/text", {"from": pair[0], "to": pair[1], "path": "a"}))

    assert "It is no text (UTF-8)." in page


def test_lines_have_numbers_and_signs():
    lines, more = lines_of("--- a\n+++ a\n@@ -3,2 +3 @@\n x\n-y\n\\ No newline at end of file\n")

    assert [(line.kind, line.text, line.old, line.new) for line in lines] == [
        ("hunk", "Line 3", None, None), ("", "x", 3, 3), ("del", "y", 4, None),
        ("hunk", "No newline at the end", None, None),
    ]  # fmt: skip
    assert not more


def test_of_many_lines_the_first_are_shown():
    lines, more = lines_of("--- a\n+++ a\n@@ -0,0 +1 @@\n" + "+x\n" * (MOST + 5))

    assert (len(lines), more) == (MOST, True)


def test_what_cannot_be_seen_in_a_line_is_spelled_out():
    assert shown("a\tb\x1b[31m\N{RIGHT-TO-LEFT OVERRIDE}") == "a\tb\\x1b[31m\\x202e"
