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


class _ReleaseNumber(_IdConverter):
    """Of an agent's release; what no database holds is no route."""

    regex = r"[1-9][0-9]{0,8}"


class _RuntimesId(_IdConverter):
    """What a runtime gave a thing of its own as its id: no slash, nothing odd."""

    regex = r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}"


register_converter(_ReleaseNumber, "rel")
register_converter(_RuntimesId, "inv")
NOUNS = (
    *("org", "agt", "key", "scn", "sec", "tok"),
    *("snp", "rst", "drl", "trl", "upg", "exp", "imp"),
)
for _name in NOUNS:
    register(_name, _name)
