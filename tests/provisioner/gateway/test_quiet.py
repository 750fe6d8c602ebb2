"""The gateway's server log: addresses without their queries."""

import logging

from provisioner.gateway.quiet import without_queries


def said(text: str, *args: object) -> str:
    record = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, text, args, None)
    assert without_queries(record)
    return record.getMessage()


def test_a_query_is_left_out():
    line = said(
        '%s - "%s %s HTTP/%s" %d', "127.0.0.1:1", "GET", "/api/ws?ticket=s3cret", "1.1", 200
    )

    assert line == '127.0.0.1:1 - "GET /api/ws HTTP/1.1" 200'


def test_other_lines_are_as_they_were():
    assert said("Started server process [%d]", 7) == "Started server process [7]"
    assert said("Waiting. What?") == "Waiting. What?"
