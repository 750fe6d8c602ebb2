"""A request once its wire is taken off, and what every dialect needs to answer it."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.model.brain import Call, Say, Turn
from deploy.model.fields import Body, canonical
from deploy.model.rejected import Rejected
from runtimes.catalog import CATALOG

CREATED = 1_767_225_600  # A fixed moment: equal requests get equal answers.
MODEL = "roost-stand-in"
AGENTS_MODEL = "standin"  # what agents without a key call it
Reply = Say | Call
Json = dict[str, Any]


def offered(*providers: str) -> list[str]:
    """The list of models. Any name is served, so those that agents are given stand on it too."""
    given = [
        name
        for runtime in CATALOG.values()
        for slug in providers
        if slug in runtime.providers
        for name in runtime.providers[slug].models
    ]
    return list(dict.fromkeys([MODEL, AGENTS_MODEL, *given]))


@dataclass(frozen=True)
class Ask:
    """One request. `seed` and `prompt_tokens` do not depend on whether it is streamed."""

    model: str
    turns: list[Turn]
    tools: list[str]
    stream: bool
    seed: str
    prompt_tokens: int
    include_usage: bool = False

    def id(self, prefix: str) -> str:
        return prefix + hashlib.sha256(f"{prefix}{self.seed}".encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Frame:
    """One server-sent event. `paced` ones share out the seconds of a slow answer."""

    data: Json | str
    event: str = ""
    paced: bool = False


@dataclass(frozen=True)
class Dialect:
    """How one provider's wire is read and written. All functions are pure."""

    parse: Callable[[Body, Mapping[str, str]], Ask]
    plain: Callable[[Ask, Reply], Json]
    frames: Callable[[Ask, Reply], Iterable[Frame]]
    refusal: Callable[[Rejected], tuple[int, Json]]
    as_list: bool = False  # Streams as one JSON list instead of server-sent events.


def seed(body: Body, *unless: str) -> str:
    told = {name: value for name, value in body.items() if name not in unless}
    return hashlib.sha256(canonical(told).encode()).hexdigest()


def tokens(value: object) -> int:
    """An estimate, the same every time: four bytes a token."""
    text = value if isinstance(value, str) else canonical(value)
    return -(-len(text.encode()) // 4)


def reply_tokens(reply: Reply) -> int:
    return tokens(reply.text) if isinstance(reply, Say) else tokens([reply.name, reply.arguments])


def words(text: str) -> list[str]:
    """The text in pieces that join to the same text again."""
    return re.findall(r"\s*\S+(?:\s+\Z)?", text) or [text]
