"""Typed reading of a JSON body: the right type, or a 400 that names the field."""

import json
from collections.abc import Iterable, Mapping

from deploy.model.rejected import Rejected

Body = Mapping[str, object]


DEEPEST = 200  # Levels. Far from where Python's own reader and writer give up.


def canonical(value: object) -> str:
    """The value as JSON, equal for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)


def check_json(value: object) -> None:
    """ValueError for what Python reads as JSON but no strict reader takes back: infinity, half
    a surrogate pair, hundreds of levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            break
    else:
        raise ValueError("nested too deeply")
    canonical(value).encode()


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def wrong(param: str, wanted: str) -> Rejected:
    return Rejected(400, f"'{param}' must be {wanted}.", param=param)


def mapping(value: object, param: str) -> Body:
    if not isinstance(value, dict):
        raise wrong(param, "an object")
    return value


def text(body: Body, param: str) -> str:
    value = body.get(param)
    if not isinstance(value, str) or not value:
        raise wrong(param, "a non-empty string")
    return value


def flag(body: Body, param: str) -> bool:
    value = body.get(param)
    if value is not None and not isinstance(value, bool):
        raise wrong(param, "true or false")
    return bool(value)


def optional(body: Body, param: str) -> Body:
    value = body.get(param)
    return {} if value is None else mapping(value, param)


def objects(body: Body, param: str, *, required: bool = False) -> list[Body]:
    """A list of objects; absent is empty unless required, and required means not empty."""
    value = body.get(param)
    if value is None and not required:
        return []
    if not isinstance(value, list) or (required and not value):
        raise wrong(param, "a non-empty list" if required else "a list")
    return [mapping(item, f"{param}[{place}]") for place, item in enumerate(value)]


def prose(value: object, param: str) -> str:
    """The text of a message's content: a string, or a list of parts of which text counts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise wrong(param, "a string or a list of parts")
    said = []
    for place, item in enumerate(value):
        part = {"text": item} if isinstance(item, str) else mapping(item, f"{param}[{place}]")
        words = part.get("text")
        if words is not None and not isinstance(words, str):
            raise wrong(f"{param}[{place}].text", "a string")
        said.append(words or "")
    return "\n\n".join(filter(None, said))
