"""Whether a key's provider takes it: asked once, at entry, by asking for the list of models.

Three answers: it takes it, it does not, or it could not be asked. Only the second is a refusal; a
provider that is away must not keep a key out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.timezone import now
from django.views.decorators.debug import sensitive_variables

from controlplane.errors import Invalid
from controlplane.keys.errors import KeyRefused
from controlplane.keys.models import Provider
from controlplane.keys.rules import CONSOLES
from controlplane.outbound import (
    Answer,
    HostUnknown,
    OutboundFailed,
    OutboundRefused,
    fetch,
)
from runtimes.catalog import CATALOG

NAMES = {Provider.ANTHROPIC: "Anthropic", Provider.OPENAI: "OpenAI", Provider.GEMINI: "Google"}
MOST_MODELS, LONGEST_NAME = 1000, 100
WRONG_GEMINI_KEY = b"API_KEY_INVALID"
NO_SCOPE = (b"issing scopes", b"nsufficient permissions")  # OpenAI's words for a restricted key


@dataclass(frozen=True)
class Checked:
    """`at` is None where the provider could not be asked; `message` says what it came to."""

    at: datetime | None
    message: str
    models: list[str] = field(default_factory=list)  # empty: not known


@sensitive_variables("value", "headers")
def ask(provider: str, value: str, base_url: str) -> Checked:
    """Takes seconds where nobody answers: never inside a transaction. Raises KeyRefused, and
    Invalid for an address that no key may be sent to."""
    url, headers = request_of(Provider(provider), value, base_url)
    who = name_of(provider, base_url)
    try:
        answer = fetch("GET", url, headers=headers)
    except (OutboundRefused, HostUnknown) as error:
        if base_url:
            raise Invalid("base_url", _no_such_place(error)) from None
        return _not_asked(who, str(error))
    except OutboundFailed as error:
        return _not_asked(who, str(error))
    return understood(provider, who, answer)


def request_of(provider: Provider, value: str, base_url: str) -> tuple[str, dict[str, str]]:
    """Addresses are taken with and without their version."""
    base = (base_url or _usual(provider)).rstrip("/")
    match provider:
        case Provider.ANTHROPIC:
            headers = {"x-api-key": value, "anthropic-version": "2023-06-01"}
            return f"{base.removesuffix('/v1')}/v1/models?limit={MOST_MODELS}", headers
        case Provider.GEMINI:
            url = f"{base.removesuffix('/v1beta')}/v1beta/models?pageSize={MOST_MODELS}"
            return url, {"x-goog-api-key": value}
    # Some endpoints have other versions in their path, or none: only a bare host is completed.
    version = "" if urlsplit(base).path else "/v1"
    return f"{base}{version}/models", {"authorization": f"Bearer {value}"}


def understood(provider: str, who: str, answer: Answer) -> Checked:
    status = answer.status
    if _knows_no_such_key(provider, answer):
        raise KeyRefused(
            f"{who} does not take this key ({status}): it is wrong, not whole, or was deleted "
            f"there. {_todo(provider)}"
        )
    if status == 200:
        models = _models(provider, answer.json())
        if models is None:
            return _not_asked(who, "it answered with something that is no list of models")
        return Checked(now(), f"{who} took it when it was stored.", models)
    return _not_asked(who, _why(status))


def _knows_no_such_key(provider: str, answer: Answer) -> bool:
    if provider == Provider.GEMINI and answer.status == 400:
        return WRONG_GEMINI_KEY in answer.body
    return answer.status == 401 and not any(words in answer.body for words in NO_SCOPE)


def _todo(provider: str) -> str:
    console = CONSOLES.get(Provider(provider))
    if console is None:
        return "Ask who runs that address for a key; nothing was stored."
    return f"Copy it again from {console}; nothing was stored."


def _why(status: int) -> str:
    if status in {401, 403}:
        return f"it does not let this key list models ({status}), which says nothing about the rest"
    if status == 404:
        return "it has no list of models at that address (404)"
    if status == 429:
        return "it takes no more questions just now (429)"
    if 300 <= status < 400:
        return f"it sends us to another address ({status}), which a key does not follow"
    return f"it answered with {status}"


def _not_asked(who: str, why: str) -> Checked:
    return Checked(None, f"Not checked: {who} could not be asked, because {why}."[:300])


def _models(provider: str, body: Any) -> list[str] | None:
    """Nothing that the other side says is trusted: names that a model may have, and not too many.
    None: this is no list. A list that is too long to keep counts as not known."""
    rows = body.get("models" if provider == Provider.GEMINI else "data") if _is(body) else None
    if not isinstance(rows, list):
        return None
    names = {_model(row) for row in rows if _is(row) and _talks(row)} - {""}
    return sorted(names) if len(names) <= MOST_MODELS and not _goes_on(body) else []


def _is(value: Any) -> bool:
    return isinstance(value, dict)


def _model(row: Mapping[str, Any]) -> str:
    name = row.get("id") or row.get("name")
    if not isinstance(name, str):
        return ""
    name = name.removeprefix("models/")
    fit = 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()
    return name if fit and " " not in name else ""


def _talks(row: Mapping[str, Any]) -> bool:
    """Gemini's list also holds what only embeds, and says so."""
    methods = row.get("supportedGenerationMethods")
    return not isinstance(methods, list) or "generateContent" in methods


def _goes_on(body: Mapping[str, Any]) -> bool:
    return bool(body.get("has_more") or body.get("nextPageToken"))


def _usual(provider: Provider) -> str:
    given: Mapping[str, str] = settings.ROOST_PROVIDER_URLS
    if provider in given:
        return given[provider]
    return next(
        runtime.providers[provider].default_base_url
        for runtime in CATALOG.values()
        if provider in runtime.providers and runtime.providers[provider].default_base_url
    )


def name_of(provider: str, base_url: str) -> str:
    if base_url or provider not in NAMES:
        return "The endpoint"
    return NAMES[Provider(provider)]


def _no_such_place(error: Exception) -> str:
    if isinstance(error, HostUnknown):
        return f"This address cannot be right: {error}. Correct it; nothing was stored."
    return (
        f"A key is not sent there: {error}. Give a public address, or ask your operator to allow "
        "this one (ROOST_OUTBOUND_ALLOW)."
    )
