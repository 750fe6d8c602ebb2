"""What the server's log says of a request: its path, and never its query."""

import logging


def without_queries(record: logging.LogRecord) -> bool:
    """A filter for uvicorn's loggers, whose arguments are the parts of a request."""
    if isinstance(record.args, tuple):
        record.args = tuple(_path(part) for part in record.args)
    return True


def _path(part: object) -> object:
    return part.partition("?")[0] if isinstance(part, str) and part.startswith("/") else part
