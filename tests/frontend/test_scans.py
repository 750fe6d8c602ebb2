"""The page on which people look for an agent's credentials, and the alarm on all its pages."""

import json

import pytest
from django.utils.timezone import now

from controlplane.scans.models import Scan
from provisioner.scan.alarm import CREDENTIALS, FOUND

PAGE = "/acme/agents/heron/credentials"
HTMX = {"HX-Request": "true"}


def place(**changes):
    looked = {"place": "workspace", "title": "Workspace", "looked_at": True, "files": 1204,
              "bytes": 3 * 1024**3, "findings": 0, "limits": []}  # fmt: skip
    return looked | changes


def done(agent, findings=(), places=(), **columns) -> Scan:
    secret = {"name": "provider key main", "version": 3, "looked_for": True, "fingerprint": "ab12"}
    report = {
        "release": 2, "node": "node-1", "looked_for": [secret], "forms": ["plain", "base64"],
        "places": list(places) or [place()], "findings": list(findings),
        "findings_total": len(findings), "not_covered": ["other nodes"],
    }  # fmt: skip
    signature = {"algorithm": "Ed25519", "key_id": "k1", "public_key": "p", "value": "v"}
    return Scan.objects.create(
        agent=agent, requested_by="Alice", status="done", findings=len(findings),
        finished_at=now(), report={"report": report, "signature": signature}, **columns,
    )  # fmt: skip


FINDING = {"place": "workspace", "path": "/workspace/<b>.env", "offset": 17,
           "secret": "provider key main", "form": "base64"}  # fmt: skip


def text(response) -> str:
    return response.content.decode()


def test_before_the_first_the_page_says_what_it_is_good_for(alice_web, agent):
    assert "Prove that no key lies on a disk" in text(alice_web.get(PAGE))


def test_a_button_starts_one_and_leads_to_it(alice_web, agent):
    response = alice_web.post(PAGE)

    scan = Scan.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"{PAGE}/{scan.pk}")
    assert scan.requested_by == "Alice"


def test_while_it_runs_the_page_asks_again_and_offers_no_second(alice_web, agent):
    scan = Scan.objects.create(
        agent=agent, requested_by="Alice", status="running", place="Image layers", places_done=4,
        places_total=17, bytes_read=5 * 1024**2,
    )  # fmt: skip

    shown = text(alice_web.get(f"{PAGE}/{scan.pk}"))

    assert f'hx-get="{PAGE}/{scan.pk}" hx-trigger="every 1s"' in shown
    assert "Looking: Image layers" in shown
    assert "4 of 17 places done, 5.0 MiB read" in shown
    assert "Scan for credentials</button>" not in shown


def test_once_done_it_asks_no_more(alice_web, agent):
    scan = done(agent)

    part = text(alice_web.get(f"{PAGE}/{scan.pk}", headers=HTMX))

    assert part.strip().startswith('<div id="scan">')
    assert "Nothing found" in part
    assert "1,204 files" in part
    assert "3.0 GiB" in part


def test_what_was_found_is_named_and_escaped(alice_web, agent):
    done(agent, [FINDING], [place(findings=1)])

    shown = text(alice_web.get(PAGE))

    assert "/workspace/&lt;b&gt;.env" in shown
    assert '<td data-label="Written as">base64</td>' in shown
    assert "Found: 1 time<" in shown


def test_a_long_path_breaks_within_its_column(alice_web, agent):
    """Widths are given by this class alone; see table.css."""
    done(agent, [FINDING | {"path": "/workspace/" + "a" * 300}], [place(findings=1)])

    assert 'class="table table-cards table-paths"' in text(alice_web.get(PAGE))


def test_of_shared_places_the_page_says_who_is_told_and_no_outcome(alice_web, agent):
    shared = {"place": "queue", "title": "Queue: every key", "shared": True, "why": "For them."}
    done(agent, [], [place(), shared])

    shown = text(alice_web.get(PAGE))

    assert "Searched for your operators" in shown
    assert "<li>Queue: every key</li>" in shown
    assert "not known" not in shown


def test_a_place_that_was_not_looked_at_says_why(alice_web, agent):
    away = {"place": "queue", "title": "Queue", "looked_at": False, "why": "It does not answer."}
    done(agent, [], [place(), away], unseen=1)

    shown = text(alice_web.get(PAGE))

    assert "1 place could not be looked at" in shown
    assert "It does not answer." in shown


def test_a_failed_one_says_why(alice_web, agent):
    Scan.objects.create(agent=agent, requested_by="a", status="failed", message="It was sealed.")

    assert "It was sealed." in text(alice_web.get(PAGE))


def test_the_history_tells_who_and_what(alice_web, agent):
    older = done(agent, [FINDING])
    done(agent)

    shown = text(alice_web.get(PAGE))

    assert f'href="{PAGE}/{older.pk}">Found: 1</a>' in shown


def test_the_signed_report_is_a_file(alice_web, agent):
    scan = done(agent)

    response = alice_web.get(f"{PAGE}/{scan.pk}/report.json")

    assert json.loads(response.content) == scan.report
    assert response["Content-Disposition"] == f'attachment; filename="{scan.pk}.json"'


def test_there_is_no_file_before_it_is_done(alice_web, agent):
    scan = Scan.objects.create(agent=agent, requested_by="Alice")

    assert alice_web.get(f"{PAGE}/{scan.pk}/report.json").status_code == 404


def test_a_viewer_reads_and_does_not_start(bob_web, agent):
    done(agent)

    assert "Scan for credentials</button>" not in text(bob_web.get(PAGE))
    assert bob_web.post(PAGE).status_code == 403
    assert Scan.objects.count() == 1


@pytest.mark.parametrize("below", ["", "/{scan}", "/{scan}/report.json"])
def test_a_stranger_finds_nothing(charlie_web, acme, agent, below):
    scan = done(agent)

    assert charlie_web.get(PAGE + below.format(scan=scan.pk)).status_code == 404


def test_a_strangers_post_starts_nothing(charlie_web, acme, agent):
    assert charlie_web.post(PAGE).status_code == 404
    assert not Scan.objects.exists()


@pytest.mark.parametrize("tab", ["", "/logs", "/settings"])
def test_an_alarm_is_on_the_pages_of_the_agent(alice_web, agent, tab):
    agent.conditions.create(
        type=CREDENTIALS, status=False, reason=FOUND, message="<i>.env holds it", since=now()
    )

    shown = text(alice_web.get(f"/acme/agents/heron{tab}"))

    assert "A credential of this agent lies on a disk" in shown
    assert "&lt;i&gt;.env holds it" in shown


def test_without_an_alarm_there_is_no_banner(alice_web, agent):
    agent.conditions.create(type=CREDENTIALS, status=True, since=now())

    assert "lies on a disk.</b>" not in text(alice_web.get("/acme/agents/heron"))
