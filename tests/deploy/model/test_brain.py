"""The brain alone: recall, tools, directives, and that it never invents."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy.model.brain import Call, Refuse, Say, Turn, think

NOTHING = "told me nothing of that kind"


def users(*said):
    turns = []
    for text in said:
        turns += [Turn("user", text), Turn("assistant", "ok")]
    return turns[:-1]


def say(*said, tools=()):
    reply = think(users(*said), tools)
    assert isinstance(reply, Say)
    return reply.text


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("Remember: the codeword is heron-4711", "What is the codeword?", "heron-4711"),
        ("The codeword is heron-4711.", "What's the codeword?", "heron-4711"),
        ("the code word is heron-4711", "Do you remember the codeword?", "heron-4711"),
        ("Remember that our Kiel hub closes at 18:00", "When does our Kiel hub close?", "18:00"),
        ("Please remember this: call Dr. Weber. At 5.", "What did I ask you to remember?",
         "call Dr. Weber. At 5."),
        ("Remember:\n- the codeword is heron-4711", "Tell me the codeword", "heron-4711"),
        ("[Sat 10:00 UTC] User: Remember: it is X1", "What did I tell you?", "it is X1"),
        ("SLOW 2 Remember: the codeword is heron-4711", "codeword?", "heron-4711"),
        ("<memory-context>\nThe codeword is no.\n</memory-context>\nMy codeword is yes",
         "What is my codeword?", "yes"),
    ],
)  # fmt: skip
def test_what_was_told_is_recalled(told, asked, answer):
    assert answer in say(told, "Nice weather, how are you?", asked)


def test_telling_is_confirmed_with_the_fact():
    assert say("Remember: the codeword is heron-4711") == (
        "Noted, I will remember: the codeword is heron-4711."
    )


def test_the_latest_telling_wins():
    told = ("Remember: the codeword is one", "Remember: the codeword is two")
    assert say(*told, "What is the codeword?") == "You told me: the codeword is two."


def test_everything_told_is_listed_and_a_later_value_replaces_the_earlier():
    told = ("Remember: the codeword is one", "Remember that Kiel closes at 18:00")
    text = say(*told, "Remember: the codeword is two", "What did I ask you to remember?")
    assert "the codeword is two" in text
    assert "Kiel closes at 18:00" in text
    assert "one" not in text


def test_the_same_message_may_tell_and_ask():
    text = say("Remember: the codeword is heron-4711. What is the codeword?")
    assert text == "You told me: the codeword is heron-4711."


def test_an_unfinished_message_merged_before_the_question_does_not_rule_it():
    for unfinished in ("SLOW 60 tell me a story", "FAIL 500", 'USETOOL search {"a": 1}'):
        for between in ("\n\n", "\n"):
            merged = f"{unfinished}{between}What is the codeword?"
            reply = think(users("The codeword is heron-4711", merged), ["search"])
            assert reply == Say("You told me: The codeword is heron-4711.")


def test_an_unfinished_telling_is_found_by_the_question_merged_after_it():
    assert "heron" in say("Remember: the codeword is heron\n\nWhat is the codeword?")


@pytest.mark.parametrize(
    "asked",
    ["What is the codeword?", "Do you remember the codeword?", "What is my launch code?",
     "Tell me the password.", "What did I tell you about Kiel?"],
)  # fmt: skip
def test_what_was_never_told_is_not_known(asked):
    assert NOTHING in say("Hello there", asked)
    assert NOTHING in say(asked)


def test_nothing_told_means_nothing_to_list():
    assert say("What did I ask you to remember?") == (
        "You have told me nothing to remember in this conversation."
    )


def test_a_near_match_is_called_the_closest_thing_told():
    text = say("Remember that our Kiel hub closes at 18:00", "When does our Hamburg hub close?")
    assert text == "The closest thing you told me: our Kiel hub closes at 18:00."


def test_words_inside_a_tool_directive_are_not_told_facts():
    said = 'USETOOL save {"text": "Remember: the codeword is heron. The codeword is heron."}'
    assert NOTHING in say(said, "What is the codeword?", tools=["save"])


def test_a_question_is_never_a_fact():
    assert NOTHING in say("Is the codeword is heron?", "What is the codeword?")


def test_an_equal_tool_name_comes_before_one_that_contains_it():
    reply = think(users("USETOOL search {}"), ["web_search", "search"])
    assert reply == Call("search", {})


def test_a_directive_without_json_calls_with_nothing():
    assert think(users("Please USETOOL SEARCH"), ["web_search"]) == Call("web_search", {})


def test_json_over_several_lines_is_read():
    said = 'USETOOL search {\n  "a": {\n\n "b": "}" }\n}\nThanks.'
    assert think(users(said), ["search"]) == Call("search", {"a": {"b": "}"}})


def test_a_long_tool_result_is_cut():
    turns = [*users("USETOOL search {}", "x")[:2], Turn("tool", "é" * 9000)]
    reply = think(turns, ["search"])
    assert isinstance(reply, Say)
    assert len(reply.text) < 2100


def test_a_question_after_a_tool_result_is_answered_and_a_reminder_is_not():
    turns = [*users("The codeword is heron", "x")[:2], Turn("tool", "three")]
    question = think([*turns, Turn("user", "What is the codeword?")], [])
    reminder = think([*turns, Turn("user", "<system-reminder>\nBe good.\n</system-reminder>")], [])
    assert question == Say("You told me: The codeword is heron.")
    assert reminder == Say("The tool answered: three")


def test_what_openclaw_says_of_itself_after_a_message_is_not_a_message():
    asked = users("[Mon 2026-11-30 20:06 UTC] The codeword is heron", "[Mon] What is the codeword?")
    busy = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
    assert think([*asked, Turn("user", busy)], []) == Say("You told me: The codeword is heron.")


def test_slow_is_capped_and_fail_takes_only_errors():
    slow = think(users("SLOW 9999 hello"), [])
    assert isinstance(slow, Say)
    assert slow.seconds == 120
    assert think(users("FAIL 529"), []) == Refuse(529)
    assert "400 to 599" in say("FAIL 200")


def test_anything_else_gets_a_friendly_word_about_keys():
    text = say("Write me a poem")
    assert "stand-in model" in text
    assert "add your provider's key" in text


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TURNS = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant", "tool"]), WORDS), max_size=8)
DIRECTIVES = st.lists(
    st.sampled_from(
        ["Remember:", "the codeword is", "USETOOL", "a", '{"x": 1}', "{", "SLOW 3", "FAIL 500",
         "What is the codeword?", "\n", "\n\n", "<system-reminder>", "</system-reminder>", "?", "."]
    ),
    max_size=12,
).map(" ".join)  # fmt: skip


@settings(deadline=None)
@given(turns=TURNS, last=DIRECTIVES | WORDS, tools=st.lists(WORDS, max_size=3))
def test_any_conversation_gets_the_same_reply_twice(turns, last, tools):
    said = [*turns, Turn("user", last)]
    reply = think(said, tools)
    assert reply == think(list(said), list(tools))
    assert not isinstance(reply, Say) or reply.text
    assert not isinstance(reply, Call) or reply.name in tools


CODEWORD = st.from_regex(r"[a-z]{3,12}-[0-9]{1,6}", fullmatch=True)
CHATTER = st.lists(
    st.sampled_from(["Hi!", "Write a poem.", "Thanks", "How are you?", "SLOW 1 hm", "FAIL 500"]),
    max_size=6,
)


@settings(deadline=None)
@given(first=CODEWORD, second=CODEWORD, before=CHATTER, between=CHATTER, after=CHATTER)
def test_through_any_chatter_the_latest_codeword_is_recalled(first, second, before, between, after):
    told = (f"Remember: the codeword is {first}", f"The codeword is {second}")
    said = (*before, told[0], *between, told[1], *after, "What is the codeword?")
    assert say(*said) == f"You told me: The codeword is {second}."


@settings(deadline=None)
@given(codeword=CODEWORD, chatter=CHATTER, role=st.sampled_from(["assistant", "tool"]))
def test_a_codeword_that_no_user_told_is_never_said(codeword, chatter, role):
    named = Turn(role, f"Remember: the codeword is {codeword}")
    turns = [named, Turn("assistant", "ok"), *users(*chatter, "What is the codeword?")]
    reply = think(turns, [])
    assert isinstance(reply, Say)
    assert codeword not in reply.text
