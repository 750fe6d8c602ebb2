"""Requests that go out: to what was checked and nowhere else, and bounded."""

import time

import pytest

from controlplane.outbound import OutboundFailed, OutboundRefused, check_url, fetch

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_an_answer_comes_back_whole(serve):
    server = serve(
        [b"HTTP/1.1 201 Made\r\nX-Odd: 1\r\nContent-Length: 9\r\n\r\n", b'{"a": [1]}'[:9]]
    )

    answer = fetch("POST", f"http://127.0.0.1:{server.port}/path", content=b"hello")

    assert (answer.status, answer.headers["x-odd"], answer.body) == (201, "1", b'{"a": [1]')
    assert answer.json() is None
    assert server.heard[0].startswith(b"POST /path HTTP/1.1\r\n")


def test_the_connection_goes_to_the_address_that_was_checked(serve, names):
    """The name leads elsewhere at every other question: there is one question only."""
    server = serve()
    names["rebind.example"] = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]]

    assert fetch("GET", f"http://rebind.example:{server.port}/").status == 200
    assert names["rebind.example"][0] == ["127.0.0.2"]


def test_a_name_that_turned_inwards_after_it_was_saved_is_refused(serve, names, settings):
    server = serve()
    settings.ROOST_OUTBOUND_ALLOW = []
    names["rebind.example"] = [["8.8.8.8"], ["127.0.0.1"]]
    check_url(f"http://rebind.example:{server.port}/")

    with pytest.raises(OutboundRefused):
        fetch("GET", f"http://rebind.example:{server.port}/")
    assert server.heard == []


def test_the_name_is_still_the_one_that_is_asked_for(serve, names):
    server = serve()
    names["models.example"] = [["127.0.0.1"]]

    fetch("GET", f"http://models.example:{server.port}/")

    assert f"Host: models.example:{server.port}".encode() in server.heard[0]


def test_tls_asks_for_the_name_too(serve, names):
    server = serve([b"this is no TLS"])
    names["models.example"] = [["127.0.0.1"]]

    with pytest.raises(OutboundFailed, match="does not speak TLS"):
        fetch("GET", f"https://models.example:{server.port}/")
    assert b"models.example" in server.heard[0]


def test_a_redirect_is_an_answer_and_is_not_followed(serve):
    inside = serve()
    server = serve(
        [f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inside.port}/\r\n\r\n".encode()]
    )

    assert fetch("GET", f"http://127.0.0.1:{server.port}/").status == 302
    assert inside.heard == []


def test_no_proxy_of_the_environment_is_used(serve, monkeypatch):
    proxy, server = serve(), serve()
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

    fetch("GET", f"http://127.0.0.1:{server.port}/")

    assert proxy.heard == []


def test_no_more_is_read_than_is_wanted(serve):
    server = serve([HEAD + b"Content-Length: 9999999\r\n\r\n", b"x" * 70_000])

    with pytest.raises(OutboundFailed, match="more than 64 KiB"):
        fetch("GET", f"http://127.0.0.1:{server.port}/", most_bytes=65536)


@pytest.mark.parametrize(
    "pieces",
    [
        [HEAD[at : at + 1] for at in range(len(HEAD))],
        [HEAD + b"Content-Length: 900\r\n\r\n", *[b"x"] * 40],
    ],
    ids=["headers", "body"],
)
def test_a_byte_now_and_then_buys_no_time(serve, pieces):
    server = serve(pieces, pause=0.1)
    began = time.monotonic()

    with pytest.raises(OutboundFailed, match="did not answer in time"):
        fetch("GET", f"http://127.0.0.1:{server.port}/", seconds=0.5)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize(
    "said", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 999999 \r\n\r\n", b"\0" * 99]
)
def test_nonsense_is_no_answer(serve, said):
    server = serve([said])

    with pytest.raises(OutboundFailed, match="does not speak HTTP"):
        fetch("GET", f"http://127.0.0.1:{server.port}/")


def test_nobody_there_is_told_in_words(settings):
    settings.ROOST_OUTBOUND_ALLOW = ["127.0.0.1:1"]

    with pytest.raises(OutboundFailed, match=r"127\.0\.0\.1 takes no connection"):
        fetch("GET", "http://127.0.0.1:1/")


def test_the_second_address_is_tried_where_the_first_is_dead(serve, names, settings):
    server = serve()
    settings.ROOST_OUTBOUND_ALLOW = ["127.0.0.0/8"]
    names["two.example"] = [["127.0.0.9", "127.0.0.1"]]

    assert fetch("GET", f"http://two.example:{server.port}/").status == 200


def test_a_header_cannot_be_smuggled_in(serve):
    server = serve()

    with pytest.raises(OutboundFailed):
        fetch("GET", f"http://127.0.0.1:{server.port}/", headers={"x": "a\r\nHost: other"})
    assert server.heard in ([], [b""])
