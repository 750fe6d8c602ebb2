"""From what OpenSRE and the vendors' libraries raise to a code and a sentence."""

from typing import Any

import pytest

from runtimes.opensre.host.events import Failed
from runtimes.opensre.host.faults import NoAnswer, TooManyRounds, failed


class StatusError(Exception):
    """As the vendors' libraries raise it."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"Error code: {status} - {body}")
        self.status_code = status
        self.body = body


class APIConnectionError(Exception):
    pass


def wrapped(cause: Exception) -> RuntimeError:
    """As OpenSRE wraps it after its retries."""
    error = RuntimeError("LLM API request failed after multiple retries.")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "model_key_refused"),
        (403, "model_key_refused"),
        (429, "model_rate_limited"),
        (404, "model_failed"),
        (503, "model_failed"),
    ],
)
def test_the_vendors_status_is_found_behind_opensres_own_words(status: int, code: str) -> None:
    failure = failed(wrapped(StatusError(status, {"message": "no"})))
    assert failure == Failed(code, f"The model's provider answered {status}: no")


@pytest.mark.parametrize(
    "body",
    [
        {"message": "said"},
        {"type": "error", "error": {"type": "authentication_error", "message": "said"}},
        [{"error": {"code": 400, "message": "said"}}],
    ],
)
def test_each_vendors_sentence_is_taken_out_of_its_wrapping(body: Any) -> None:
    assert failed(StatusError(500, body)).message == "The model's provider answered 500: said"


@pytest.mark.parametrize("body", [None, [], [7], {"error": 7}, {"message": {}}])
def test_an_answer_of_no_known_shape_is_quoted(body: Any) -> None:
    assert "Error code: 500" in failed(StatusError(500, body)).message


def test_gemini_calls_a_wrong_key_a_bad_request() -> None:
    body = [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]
    assert failed(wrapped(StatusError(400, body))).code == "model_key_refused"


def test_a_missing_key_is_told_without_names_of_variables() -> None:
    failure = failed(ValueError("LLM provider 'openai' requires OPENAI_API_KEY to be set."))
    assert failure == Failed("model_key_refused", "The agent has no key for its model.")


def test_a_provider_that_does_not_answer_is_the_models_failure() -> None:
    assert failed(wrapped(APIConnectionError("Connection error."))).code == "model_failed"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoAnswer(), "model_failed"),
        (TooManyRounds(), "turn_failed"),
        (KeyError("x"), "turn_failed"),
    ],
)
def test_what_goes_wrong_between_has_a_code(error: Exception, code: str) -> None:
    assert failed(error).code == code


def test_an_error_that_is_its_own_cause_ends() -> None:
    error = RuntimeError("round")
    error.__cause__ = error
    assert failed(error) == Failed("turn_failed", "RuntimeError: round")
