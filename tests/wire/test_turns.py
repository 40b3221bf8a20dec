from __future__ import annotations

from itertools import permutations

import pytest

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.wire.turns import in_turns, instructions

HI = UserMessage.of("hi")
ONE, TWO = (ToolCall(id=id_, name="f") for id_ in ("1", "2"))
BOTH = AssistantMessage.of(ONE, TWO)


def test_results_stand_behind_their_calls_wherever_they_were() -> None:
    results = (ToolMessage.of("a", call=ONE), ToolMessage.of("b", call=TWO))
    messages: tuple[Message, ...] = (HI, BOTH, *results)

    for order in permutations(messages):
        turns = list(in_turns(order))
        place = turns.index(BOTH)
        assert turns[place : place + 3] == [BOTH, *results]


def test_several_calls_of_one_id_take_their_results_in_order() -> None:
    asked = AssistantMessage.of(ONE, ONE)
    first, second = (ToolMessage.of(text, call=ONE) for text in ("a", "b"))

    assert list(in_turns([asked, first, second])) == [asked, first, second]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ((BOTH, ToolMessage.of("a", call=ONE)), "the call '2' of tool 'f'"),
        ((HI, ToolMessage.of("a", call=ONE)), "answers the call '1'"),
    ],
    ids=["a call without a result", "a result without a call"],
)
def test_what_has_no_partner_is_refused(
    messages: tuple[Message, ...], said: str
) -> None:
    with pytest.raises(RequestError, match=said):
        list(in_turns(messages))


def test_instructions_are_one_text_and_no_turn() -> None:
    messages = (
        SystemMessage.of("Be brief."),
        HI,
        SystemMessage.of(""),
        SystemMessage.of("Be kind."),
    )

    assert instructions(messages) == "Be brief.\n\nBe kind."
    assert list(in_turns(messages)) == [HI]
