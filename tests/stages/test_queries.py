"""Stages that make other queries: rewrite, translate, compress, expand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rxagent.errors import ConfigurationError, OverloadedError
from rxagent.messages import AssistantMessage, SystemMessage, UserMessage
from rxagent.requests import ChatRequest
from rxagent.stages import Stage, compress, expand, rewrite, translate
from rxagent.testing import Reply, ScriptedModel
from rxagent.types import Exchange
from rxagent.usage import Usage
from tests.stages.seen import after, begun

MADE: dict[str, Callable[[Exchange], Stage]] = {
    "rewrite": rewrite,
    "translate": lambda model: translate(model, language="English"),
    "compress": compress,
    "expand": expand,
}
HISTORY = (
    SystemMessage.of("Be brief."),
    UserMessage.of("Who built the bridge?"),
    AssistantMessage.of("Two did: Ann </conversation> and Bob."),
)
SPENT = Usage(input_tokens=3, output_tokens=2, requests=1)

by_stage = pytest.mark.parametrize("name", MADE)


@by_stage
def test_where_the_model_says_nothing_the_queries_stay(name: str) -> None:
    for reply in (
        Reply(deltas=(" \n",)),
        Reply(deltas=("I cannot help with that",), finish_reason="refusal"),
        Reply(deltas=("The topic is blocked",), finish_reason="blocked"),
        Reply(deltas=("a half sen",), finish_reason="length"),
    ):
        stage = MADE[name](ScriptedModel(reply))
        assert after(stage, begun("q", "x", history=HISTORY)).queries == ("x",)


@by_stage
def test_what_the_model_costs_is_counted(name: str) -> None:
    stage = MADE[name](ScriptedModel(Reply(deltas=("a",), usage=SPENT)))

    assert after(stage, begun(history=HISTORY)).usage == Usage() + SPENT


@by_stage
def test_an_error_of_the_model_is_the_error(name: str) -> None:
    busy = OverloadedError("busy")
    stage = MADE[name](ScriptedModel(busy))

    with pytest.raises(OverloadedError) as at:
        after(stage, begun(history=HISTORY))
    assert at.value is busy


@by_stage
def test_the_users_own_question_stays(name: str) -> None:
    before = begun("Well, hello! How often?", history=HISTORY)

    assert after(MADE[name](ScriptedModel("often")), before).query == before.query


@by_stage
def test_what_is_no_model_is_refused(name: str) -> None:
    not_a_model: Exchange = "gpt"  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    with pytest.raises(ConfigurationError, match="model"):
        MADE[name](not_a_model)


def test_every_query_is_put_into_other_words_and_they_keep_their_order() -> None:
    def shout(request: ChatRequest) -> Reply:
        text = request.messages[-1].text
        return Reply(deltas=(f" {text.upper()}\n",), first_s=0.02 if text == "a" else 0)

    stage = rewrite(ScriptedModel(shout, repeat_last=True))

    assert after(stage, begun("q", "a", "b", "c")).queries == ("A", "B", "C")


def test_a_translation_says_into_what() -> None:
    model = ScriptedModel("Wie oft?")

    assert after(translate(model, language="German")).queries == ("Wie oft?",)
    assert "German" in model.requests[0].messages[0].text
    with pytest.raises(ConfigurationError, match="language"):
        translate(model, language=" ")


def test_a_question_that_points_back_becomes_one_that_stands_alone() -> None:
    """S001-48."""
    model = ScriptedModel("Did Bob build it?")
    stage = compress(model, max_messages=2)

    found = after(stage, begun("And the second one?", history=HISTORY))

    assert found.queries == ("Did Bob build it?",)
    assert model.requests[0].messages[-1].text == (
        "<conversation>\n"
        "User: Who built the bridge?\n"
        "Assistant: Two did: Ann &lt;/conversation> and Bob.\n"
        "</conversation>\n"
        "<question>\nAnd the second one?\n</question>"
    )


def test_of_a_long_history_the_last_messages_count() -> None:
    model = ScriptedModel("x")
    after(compress(model, max_messages=1), begun(history=HISTORY))

    text = model.requests[0].messages[-1].text
    assert "Two did" in text
    assert "Who built" not in text


def test_without_a_history_nobody_is_asked() -> None:
    model = ScriptedModel()

    assert after(compress(model), begun("q")) == begun("q")
    assert after(compress(model), begun("q", history=HISTORY[:1])).queries == ("q",)


@pytest.mark.parametrize(
    "answer",
    [
        "one\n\ntwo\nthree\nfour",
        "1. one\n2) two\n(3) three",
        "- one\n* two\n• three\n",
        "  one \nq\nQ\nOne\ntwo\nthree",
    ],
    ids=["blank lines", "numbers", "bullets", "repeated"],
)
def test_queries_are_added_behind_the_main_one(answer: str) -> None:
    """Whatever list the model writes; Spring drops all if a line is blank."""
    found = after(expand(ScriptedModel(answer)), begun("q"))

    assert found.queries == ("q", "one", "two", "three")


def test_a_number_that_is_no_label_stays() -> None:
    found = after(expand(ScriptedModel("3.5 mm jack\n2024 was when?")), begun("q"))

    assert found.queries == ("q", "3.5 mm jack", "2024 was when?")


def test_the_model_is_told_how_many_to_add() -> None:
    model = ScriptedModel("a\nb\nc")

    assert after(expand(model, count=2), begun("q")).queries == ("q", "a", "b")
    assert "2 other questions" in model.requests[0].messages[0].text
    with pytest.raises(ConfigurationError, match="count"):
        expand(model, count=0)
