"""Ids in paths: anything else is no route at all, so no odd byte ever reaches a query."""

from django.urls import register_converter

from controlplane.ids import ALPHABET


class _IdConverter:
    prefix = ""

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def register(name: str, prefix: str) -> None:
    regex = f"{prefix}_[{ALPHABET}]{{16}}"
    register_converter(type(f"{name.title()}Id", (_IdConverter,), {"regex": regex}), name)


for _name in ("org", "agt", "key", "tok"):
    register(_name, _name)
