"""JSON, and only what a database and a program can hold."""

import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

MAX_BODY = 1024 * 1024  # bytes; the largest honest body is a 32 KiB key


class BodyTooLarge(APIException):
    status_code = 413
    default_code = "body_too_large"
    default_detail = "The body is larger than 1 MiB. Send less; nothing was stored."


class StrictJSONParser(JSONParser):
    """Refuses bodies over 1 MiB (413), nesting bombs, lone surrogates, non-objects and objects that
    name a field twice (400)."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        raw = stream.read(MAX_BODY + 1)
        if len(raw) > MAX_BODY:
            raise BodyTooLarge
        try:
            data = json.loads(
                raw.decode(), parse_constant=_refuse_constant, object_pairs_hook=_each_once
            )
            # What cannot be written as UTF-8 cannot be stored; find out here, not in the database.
            json.dumps(data, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise ParseError("The body is not valid JSON in UTF-8.") from error
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object, such as {}.")
        return data


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two values counts, so that neither may be taken for meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ParseError(f"The body has the field {twice[:64]!a} twice. Send it once.")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
