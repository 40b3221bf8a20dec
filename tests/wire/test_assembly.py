from __future__ import annotations

from rxagent.messages import (
    AssistantMessage,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from rxagent.requests import Origin
from rxagent.wire.assembly import AnswerAssembler


def test_adjacent_pieces_of_a_kind_join_and_parts_keep_their_order() -> None:
    """S001-91, S001-92, S001-94: thoughts are apart, and not in the text."""
    answer = AnswerAssembler(Origin())
    answer.reasoning("Let ")
    answer.reasoning("me see.")
    answer.text("It ")
    answer.text("is")
    answer.call(index=0, id="a", name="f", arguments="{")
    answer.text(" ...")
    answer.call(index=0, arguments="}")
    answer.text(" 9")
    answer.reasoning("done")

    message = answer.message(truncated=False)

    assert message == AssistantMessage.of(
        Reasoning(text="Let me see."),
        "It is",
        ToolCall(id="a", name="f", arguments="{}"),
        " ... 9",
        Reasoning(text="done"),
    )
    assert (message.text, message.reasoning) == ("It is ... 9", "Let me see.done")


def test_a_refusal_is_no_text() -> None:
    answer = AnswerAssembler(Origin())
    answer.refusal("I can't ")
    answer.refusal("help.")

    message = answer.message(truncated=False)

    assert message.content == (Refusal(text="I can't help."),)
    assert message.text == ""


def test_an_opaque_part_stands_where_it_came() -> None:
    answer = AnswerAssembler(Origin())
    opaque = Opaque(dialect="d", data="{}")
    answer.text("a")
    answer.opaque(opaque)
    answer.text("b")

    message = answer.message(truncated=False)

    assert message.content == (Text(text="a"), opaque, Text(text="b"))


def test_without_calls_there_are_none() -> None:
    """S001-100."""
    answer = AnswerAssembler(Origin())

    assert answer.call(index=0) is None
    assert answer.message(truncated=True) == AssistantMessage(content=())


def test_a_cut_off_answer_marks_its_last_call() -> None:
    answer = AnswerAssembler(Origin())
    answer.call(index=0, id="a", name="f", arguments="{}")
    answer.call(index=1, id="b", name="f", arguments="{}")

    calls = answer.message(truncated=True).tool_calls

    assert [call.truncated for call in calls] == [False, True]


def test_a_signature_in_pieces_belongs_to_the_reasoning_before_it() -> None:
    answer = AnswerAssembler(Origin())
    answer.reasoning("one")
    answer.signature("s1", dialect="d")
    answer.signature("s2", dialect="d")
    answer.close_part()
    answer.reasoning("two")
    answer.text("text")
    answer.signature("of no text", dialect="d")

    message = answer.message(truncated=False)

    assert message.content == (
        Reasoning(text="one", signature="s1s2", dialect="d"),
        Reasoning(text="two"),
        Text(text="text"),
        Reasoning(text="", signature="of no text", dialect="d"),
    )
