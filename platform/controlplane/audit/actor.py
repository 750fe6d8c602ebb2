"""Who does something: passed to every action, written into every audit row."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Actor:
    """`kind` is member, token, operator or system; `label` is what people read."""

    kind: str
    id: str
    label: str
    ip: str | None = None


SYSTEM = Actor("system", "", "Roost")
