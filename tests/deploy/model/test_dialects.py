"""What holds in every dialect. `answer` checks each time that stream equals plain."""

import json


def test_a_codeword_told_earlier_is_recalled(answer):
    text, _, _ = answer("Remember: the codeword is heron-4711", "Noted.", "What is the codeword?")
    assert text == "You told me: the codeword is heron-4711."


def test_a_codeword_that_only_the_system_prompt_and_the_model_named_was_never_told(answer):
    text, _, _ = answer("Hello", "The codeword is model-2.", "What is the codeword?")
    assert "told me nothing of that kind" in text


def test_a_tool_is_called_with_the_json_of_the_directive(answer):
    said = 'USETOOL remem {"text": "Kiel closes at 18:00", "tags": ["ü", 1.5, null]}'
    called = answer(said, tools=("search", "mcp__orgmem__remember"))
    arguments = {"text": "Kiel closes at 18:00", "tags": ["ü", 1.5, None]}
    assert called == ("", "mcp__orgmem__remember", arguments)


def test_a_tool_result_is_told_to_the_user(answer, dialect):
    result = dialect.tool_result("search", "three herons")
    text, _, _ = answer("USETOOL search {}", tools=("search",), more=result)
    assert text == "The tool answered: three herons"


def test_an_unknown_tool_is_answered_with_the_tools_there_are(answer):
    text, _, _ = answer("USETOOL nowhere {}", tools=("search", "recall"))
    assert "search, recall" in text


def test_equal_requests_get_equal_answers_and_others_get_other_ids(client, dialect):
    first, again, other = (
        client.post(dialect.path, dialect.ask(said)).content for said in ("Hi", "Hi", "Ho")
    )
    assert first == again
    assert first != other


def test_a_slow_answer_is_whole_in_the_end(answer):
    text, _, _ = answer("SLOW 0.05 Remember: the codeword is heron-4711")
    assert text == "Noted, I will remember: the codeword is heron-4711."


def test_an_asked_for_failure_has_that_status_and_is_not_a_stream(client, dialect):
    for status in (400, 401, 402, 429, 500, 529):
        response = client.post(
            dialect.stream_path, dialect.ask(f"FAIL {status}") | {"stream": True}
        )
        assert response.status_code == status
        assert "error" in response.json()
        assert ("retry-after" in response.headers) == (status == 429)


def test_a_wrong_key_and_no_key_are_refused_before_the_body_is_looked_at(client, dialect):
    for headers in ({dialect.own_header: "sk-wrong-1"}, {"authorization": "Bearer wrong-1"}, {}):
        response = client.send("POST", dialect.path, headers=headers, content=b"not json")
        assert response.status_code in (400, 401, 403)
        assert "error" in response.json()
        assert "not valid JSON" not in response.text
        assert "wrong-1" not in response.text


def test_each_way_of_sending_a_key_is_taken(client, dialect):
    for headers in ({"x-api-key": "k"}, {"x-goog-api-key": "k"}, {"authorization": "Bearer k"}):
        takes = dialect.own_header in headers or "authorization" in headers
        response = client.post(dialect.path, dialect.ask("Hi"), headers=headers)
        assert (response.status_code == 200) == takes


def test_ids_and_texts_of_non_ascii_survive(answer):
    text, _, _ = answer("Remember: das Kennwort heißt “Größe 🦤”", "ok", "What did I tell you?")
    assert text == "You told me to remember: das Kennwort heißt “Größe 🦤”."


def test_answers_hold_no_key_and_are_json(client, dialect):
    response = client.post(dialect.path, dialect.ask("Hi"))
    assert "any-key" not in response.text
    assert json.loads(response.text)
