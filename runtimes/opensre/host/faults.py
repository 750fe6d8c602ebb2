"""From whatever was raised in a turn to words for people.

OpenSRE retries and then raises a RuntimeError of its own; the vendor's error is its cause.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtimes.opensre.host.events import Failed

MOST_WORDS = 500  # characters
REFUSED = {401, 403}
RATE_LIMITED = 429
# Gemini calls a wrong key a bad request.
WRONG_KEY = "API key not valid"
NO_KEY = ("_API_KEY to be set", "Missing OPENAI_API_KEY", "Missing ANTHROPIC_API_KEY")
# By name: the vendors' libraries share no base class, and this module imports neither.
UNREACHED = {"APIConnectionError", "APITimeoutError"}


class NoAnswer(Exception):
    def __init__(self) -> None:
        super().__init__("The model ended its turn without a word. Say it again.")


class TooManyRounds(Exception):
    def __init__(self) -> None:
        super().__init__("The model asked for tools again and again. Ask for less at once.")


class NoReport(Exception):
    def __init__(self) -> None:
        super().__init__("OpenSRE ended without a report. Send the alert again.")


def failed(error: BaseException, secrets: Sequence[str] = ()) -> Failed:
    """`secrets` are kept out of the message: a vendor may quote the key it refuses."""
    code, message = _sorted(error)
    for secret in filter(None, secrets):
        message = message.replace(secret, "…")
    return Failed(code, message[:MOST_WORDS])


def _sorted(error: BaseException) -> tuple[str, str]:
    for cause in _causes(error):
        words = str(cause)
        if any(sign in words for sign in NO_KEY):
            return "model_key_refused", "The agent has no key for its model."
        status = getattr(cause, "status_code", None)
        if isinstance(status, int):
            said = f"The model's provider answered {status}: {_said(cause)}"
            return _code_of(status, words), said
        if type(cause).__name__ in UNREACHED:
            return "model_failed", f"The model's provider does not answer: {words}"
    match error:
        case NoAnswer():
            return "model_failed", str(error)
        case TooManyRounds() | NoReport():
            return "turn_failed", str(error)
    return "turn_failed", f"{type(error).__name__}: {error}"


def _said(error: BaseException) -> str:
    """The vendor's own sentence; each wraps it in another way."""
    body: Any = getattr(error, "body", None)
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    said = body.get("message") if isinstance(body, Mapping) else None
    return said if isinstance(said, str) else str(error)


def _code_of(status: int, words: str) -> str:
    if status in REFUSED or WRONG_KEY in words:
        return "model_key_refused"
    return "model_rate_limited" if status == RATE_LIMITED else "model_failed"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, the nearest first; an error may be its own cause."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
