"""Where each provider's wire differs: event order, finish reasons, error shapes, model lists."""

import json

import pytest


def lines(response):
    return [line for line in response.text.splitlines() if line]


def test_openai_streams_end_with_a_finish_a_usage_chunk_and_done(client):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    response = client.post(
        "/v1/chat/completions", body | {"stream_options": {"include_usage": True}}
    )
    *chunks, done = [line.removeprefix("data: ") for line in lines(response)]
    first, *_, finish, usage = [json.loads(chunk) for chunk in chunks]
    assert done == "[DONE]"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert first["usage"] is None
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] > 0


def test_openai_streams_carry_no_usage_unless_asked(client):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    assert '"usage"' not in client.post("/v1/chat/completions", body).text


def test_openai_tool_calls_finish_with_tool_calls(client):
    tools = [{"type": "function", "function": {"name": "search"}}]
    messages = [{"role": "user", "content": "USETOOL search {}"}]
    body = {"model": "m", "messages": messages, "tools": tools}
    choice = client.post("/v1/chat/completions", body).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"][0]["id"].startswith("call_")


def test_tool_choice_none_offers_no_tool(client):
    tools = [{"type": "function", "function": {"name": "search"}}]
    messages = [{"role": "user", "content": "USETOOL search {}"}]
    body = {"model": "m", "messages": messages, "tools": tools, "tool_choice": "none"}
    message = client.post("/v1/chat/completions", body).json()["choices"][0]["message"]
    assert "Tools offered: none" in message["content"]


def test_responses_streams_have_their_events_in_order(client):
    response = client.post("/v1/responses", {"model": "m", "input": "Hi", "stream": True})
    kinds = [line.removeprefix("event: ") for line in lines(response) if line.startswith("event")]
    once = list(dict.fromkeys(kinds))
    assert once == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_responses_refuse_to_build_on_an_answer_that_nobody_stored(client):
    body = {"model": "m", "input": "Hi", "previous_response_id": "resp_1"}
    response = client.post("/v1/responses", body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "previous_response_not_found"


def test_a_websocket_try_on_responses_is_sent_to_http_at_once(client):
    response = client.get("/v1/responses", headers={"upgrade": "websocket"})
    assert response.status_code == 426


def test_anthropic_streams_have_their_events_in_order(client):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    response = client.post("/v1/messages", body | {"stream": True})
    kinds = [line.removeprefix("event: ") for line in lines(response) if line.startswith("event")]
    assert list(dict.fromkeys(kinds)) == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_anthropic_counts_the_tokens_that_it_later_reports(client):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    counted = client.post("/v1/messages/count_tokens", body).json()["input_tokens"]
    used = client.post("/v1/messages", body | {"max_tokens": 9}).json()["usage"]["input_tokens"]
    assert counted == used > 0


def test_gemini_counts_the_tokens_that_it_later_reports(client):
    body = {"contents": [{"parts": [{"text": "Hi"}]}]}
    counted = client.post("/v1beta/models/m:countTokens", body).json()["totalTokens"]
    answered = client.post("/v1beta/models/m:generateContent", body).json()
    assert counted == answered["usageMetadata"]["promptTokenCount"] > 0
    assert answered["candidates"][0]["finishReason"] == "STOP"


def test_gemini_streams_a_list_when_events_are_not_asked_for(client):
    body = {"contents": [{"parts": [{"text": "Hi"}]}]}
    chunks = client.post("/v1beta/models/m:streamGenerateContent", body).json()
    assert len(chunks) > 1
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


def test_the_model_list_has_the_shape_of_the_client_that_asks(client):
    openai = client.get("/v1/models").json()
    anthropic = client.get("/v1/models", headers={"x-api-key": "k"}).json()
    gemini = client.get("/v1beta/models", headers={"x-goog-api-key": "k"}).json()
    assert openai["object"] == "list"
    assert (anthropic["has_more"], anthropic["data"][0]["type"]) == (False, "model")
    assert gemini["models"][0]["name"] == "models/" + openai["data"][0]["id"]


@pytest.mark.parametrize(
    ("path", "headers", "status", "error"),
    [
        ("/v1/models", {"authorization": "Bearer sk-wrong"}, 401, ("code", "invalid_api_key")),
        ("/v1/models", {"x-api-key": "sk-wrong"}, 401, ("type", "authentication_error")),
        ("/v1/models", {}, 401, ("code", "missing_api_key")),
        ("/v1beta/models?key=wrong-1", {}, 400, ("status", "INVALID_ARGUMENT")),
        ("/v1beta/models", {"x-goog-api-key": "wrong-1"}, 400, ("status", "INVALID_ARGUMENT")),
        ("/v1beta/models", {"authorization": "Bearer wrong-1"}, 401, ("status", "UNAUTHENTICATED")),
        ("/v1beta/models", {}, 403, ("status", "PERMISSION_DENIED")),
    ],
)
def test_a_key_check_gets_the_providers_own_refusal(client, path, headers, status, error):
    response = client.get(path, headers=headers)
    assert response.status_code == status
    assert response.json()["error"][error[0]] == error[1]


def test_a_wrong_gemini_key_is_named_as_such(client):
    details = client.get("/v1beta/models?key=wrong-1", headers={}).json()["error"]["details"]
    assert details[0]["reason"] == "API_KEY_INVALID"


def test_a_gemini_key_in_the_query_is_taken(client):
    assert client.get("/v1beta/models?key=k", headers={}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "FAIL 429"}]},
         ("type", "requests")),
        ("/v1/messages", {"messages": [{"role": "user", "content": "FAIL 529"}], "max_tokens": 1},
         ("type", "overloaded_error")),
        ("/v1/messages", {"messages": [{"role": "user", "content": "FAIL 402"}], "max_tokens": 1},
         ("type", "billing_error")),
        ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "FAIL 429"}]}]},
         ("status", "RESOURCE_EXHAUSTED")),
    ],
)  # fmt: skip
def test_an_asked_for_failure_has_the_providers_name_for_it(client, path, body, where):
    error = client.post(path, body | {"model": "m"}).json()["error"]
    assert error[where[0]] == where[1]


def test_health_needs_no_key(client):
    assert client.get("/health", headers={}).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("path", "key"), [("/v1/nothing", "type"), ("/v1/messages/x", "type"), ("/v1beta/x", "status")]
)
def test_an_unknown_path_is_a_404_in_the_shape_of_its_provider(client, path, key):
    response = client.get(path)
    assert response.status_code == 404
    assert key in response.json()["error"]
