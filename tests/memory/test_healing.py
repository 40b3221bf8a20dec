from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rxagent.memory import heal
from rxagent.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.models._answer import Dialect
from rxagent.requests import ChatRequest
from rxagent.wire import (
    AnthropicDialect,
    GeminiDialect,
    OllamaDialect,
    OpenAIChatDialect,
    OpenAIResponsesDialect,
)
from tests.cases.invariants import check_invariants, neutral_messages
from tests.memory.mutilated import HISTORIES, INVARIANTS

X, Y = ToolCall(id="x", name="f"), ToolCall(id="y", name="g")
USER, NEXT = UserMessage.of("u"), UserMessage.of("next")
ANSWER = AssistantMessage.of("a")
OF_X, OF_Y = ToolMessage.of("rx", call=X), ToolMessage.of("ry", call=Y)


def shown(messages: tuple[Message, ...]) -> list[str]:
    return [f"{each.role} {each.text}".strip() for each in messages]


def test_a_whole_history_comes_back_as_it_is() -> None:
    """S000-15: also one whose turn ended with the result of a tool."""
    for whole in (
        (),
        (USER, ANSWER),
        (SystemMessage.of("s"), USER, AssistantMessage.of(X, Y), OF_X, OF_Y, ANSWER),
        (USER, AssistantMessage.of(X), OF_X),
        (USER, AssistantMessage.of(X), OF_X, NEXT, ANSWER),
    ):
        healed = heal(whole)
        assert [each.id for each in healed] == [each.id for each in whole]


def test_a_call_without_a_result_gets_an_error_that_says_so() -> None:
    """S000-82, M-39."""
    healed = heal([USER, AssistantMessage.of(X, Y), OF_Y, NEXT, ANSWER])

    result = healed[2]
    assert isinstance(result, ToolMessage)
    assert (result.tool_call_id, result.name, result.is_error) == ("x", "f", True)
    assert result.text.startswith("interrupted: ")
    assert result.mark == "interrupted"
    assert shown(healed[3:]) == ["tool ry", "user next", "assistant a"]


def test_results_stand_behind_their_calls_in_the_order_of_the_calls() -> None:
    """As two turns leave them that stored their rounds at once."""
    healed = heal(
        [USER, AssistantMessage.of(X, Y), NEXT, AssistantMessage.of("b"), OF_Y, OF_X]
    )

    assert shown(healed) == [
        "user u",
        "assistant",
        "tool rx",
        "tool ry",
        "user next",
        "assistant b",
    ]


def test_a_result_without_a_call_is_dropped_and_so_is_a_second_one() -> None:
    healed = heal([USER, OF_X, AssistantMessage.of(X), OF_X, OF_X, OF_Y])

    assert shown(healed) == ["user u", "assistant", "tool rx"]


def test_an_id_that_is_used_again_belongs_to_the_newest_call() -> None:
    """Some servers count calls from 0 in each answer."""
    again = ToolMessage.of("again", call=X)
    healed = heal([USER, AssistantMessage.of(X), NEXT, AssistantMessage.of(X), again])

    assert [each.startswith("tool interrupted") for each in shown(healed)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert healed[-1] is again


def test_two_calls_of_one_id_have_their_results_in_order() -> None:
    first, second = ToolMessage.of("1", call=X), ToolMessage.of("2", call=X)

    assert heal([USER, AssistantMessage.of(X, X), first, second])[2:] == (first, second)


def test_a_question_without_an_answer_gets_one_that_says_so() -> None:
    """Two messages of the user in a row are refused by strict servers."""
    halves: list[list[Message]] = [
        [USER],
        [USER, AssistantMessage.of(" ")],
        [USER, OF_X],
    ]
    for half in halves:
        last = heal(half)[-1]
        assert isinstance(last, AssistantMessage)
        assert "interrupted" in last.text
        assert last.mark == "interrupted"
        assert [each.role for each in heal([*half, NEXT, ANSWER])] == [
            "user",
            "assistant",
        ] * 2


def test_a_summary_is_taken_as_read() -> None:
    """It is a message of the user, and another one follows it."""
    summary = UserMessage(content=(Text(text="so far"),), mark="summary")

    histories: list[list[Message]] = [[summary], [summary, USER, ANSWER]]
    for history in histories:
        _, taken, *rest = heal(history)
        assert isinstance(taken, AssistantMessage)
        assert (taken.text, taken.mark) == ("(I go on from there.)", "summary")
        assert rest == history[1:]


def test_the_newest_instructions_come_first_and_alone() -> None:
    """V-19; acceptance 58."""
    old, new = SystemMessage.of("old"), SystemMessage.of("new")

    assert heal([old, USER, ANSWER, new]) == (new, USER, ANSWER)
    assert heal([old, old]) == (old,)


def test_what_says_nothing_is_dropped() -> None:
    thought = AssistantMessage.of(Reasoning(text="hm"))

    assert heal([USER, thought, ANSWER, UserMessage.of()]) == (USER, ANSWER)


def test_an_answer_before_the_first_question_is_dropped_with_its_results() -> None:
    assert heal([ANSWER, AssistantMessage.of(X), OF_X, USER, ANSWER]) == (USER, ANSWER)


DIALECTS: dict[str, Dialect] = {
    "openai-chat": OpenAIChatDialect(),
    "anthropic-messages": AnthropicDialect(),
    "google-generate": GeminiDialect(),
}


@given(HISTORIES)
def test_every_provider_accepts_a_healed_history(history: tuple[Message, ...]) -> None:
    """S000-82: the next question, behind whatever was left."""
    request = ChatRequest(messages=(*heal(history), NEXT))
    roles = [each.role for each in request.messages]
    assert ("user", "user") not in pairwise(roles)
    for protocol, dialect in DIALECTS.items():
        body = json.loads(dialect.encode(request, model="m", stream=True))
        neutral = neutral_messages(body, protocol)
        check_invariants(INVARIANTS, neutral)
        turns = [each["role"] for each in neutral if each["role"] != "system"]
        assert turns[0] == "user"
    for dialect in (OllamaDialect(), OpenAIResponsesDialect()):
        dialect.encode(request, model="m", stream=True)


@given(HISTORIES)
def test_healing_twice_heals_once(history: tuple[Message, ...]) -> None:
    healed = heal(history)

    assert [each.id for each in heal(healed)] == [each.id for each in healed]


@given(HISTORIES)
def test_what_is_put_in_is_known_again(history: tuple[Message, ...]) -> None:
    """Such as by a summary that stands for it."""
    healed = [each.id for each in heal(history)]

    assert healed == [each.id for each in heal(history)]
    assert len({*healed}) == len(healed)


@given(HISTORIES, st.integers(0, 12))
def test_what_is_healed_is_healthy_where_it_is_cut(
    history: tuple[Message, ...], cut: int
) -> None:
    """A process dies at any message."""
    request = ChatRequest(messages=(*heal(heal(history)[:cut]), NEXT))
    body = json.loads(OpenAIChatDialect().encode(request, model="m", stream=True))

    check_invariants(INVARIANTS, neutral_messages(body))
