"""Server-sent events as text: what goes in comes out at the other end."""

import json

import pytest

from controlplane.agents.sse import event


def received(text):
    """What a browser makes of it: (name, data, id)."""
    name, data, event_id = "message", [], None
    head, end = text[:-2], text[-2:]
    assert end == "\n\n"
    for line in head.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        field, _, value = line.partition(": ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id":
            event_id = value
    return name, "\n".join(data), event_id


def test_an_event_has_a_name_an_id_and_its_data():
    assert event("line", {"at": 1}, 7) == 'id: 7\nevent: line\ndata: {"at": 1}\n\n'


AWKWARD = ["", " ", "a\nb", "\n\n", "data: x", "event: y\n\nid: 9", "🐓", "\x00", '"', "\\n",
           "\u2028\u2029\x85\x0b\x1c", "<script>"]  # fmt: skip


@pytest.mark.parametrize("text", AWKWARD)
def test_json_arrives_whole(text):
    name, data, event_id = received(event("delta", {"text": text}))

    assert (name, event_id) == ("delta", None)
    assert json.loads(data) == {"text": text}


@pytest.mark.parametrize("html", ["<p>a</p>\n<p>b</p>", "one\r\ntwo", "one\rtwo", "a\u2028b", ""])
def test_text_arrives_with_its_lines(html):
    assert received(event("part", html))[1] == html.replace("\r\n", "\n").replace("\r", "\n")


def test_a_line_end_cannot_begin_another_event():
    assert event("part", "a\n\nevent: evil\ndata: b").count("\n\n") == 1
