from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.agent import Agent
from rxagent.errors import ConfigurationError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)
from rxagent.messages import AssistantMessage
from rxagent.operators import collect_text, just
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import ScriptedModel

RESPONSE = ChatResponse(message=AssistantMessage.of("what the model said"))
A, B = TextDelta(text="a"), TextDelta(text="b")
VOID = Retracted(reason="a guard")
ROUND, END = RoundFinished(response=RESPONSE), Finished(response=RESPONSE)


def collected(*events: ChatEvent) -> list[str]:
    return list(Flow.of(just(*events)).pipe(collect_text()))


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([A, ReasoningDelta(text="hm"), B, END], ["a", "ab"]),
        ([A, VOID, B, END], ["a", "", "b"]),
        ([A, VOID, END], ["a", ""]),
        ([VOID, A, END], ["a"]),
        ([A, ROUND, ToolCallDelta(index=0), B, END], ["a", "b"]),
        ([A, ROUND, VOID, B, END], ["a", "b"]),
        ([A, ROUND, B, VOID, A, END], ["a", "b", "", "a"]),
        ([A, ROUND, END], ["a", ""]),
        ([TextDelta(text=""), END], [""]),
        ([], [""]),
    ],
)
def test_each_text_is_whole_and_the_last_one_is_the_answer(
    events: list[ChatEvent], texts: list[str]
) -> None:
    assert collected(*events) == texts


@given(st.lists(st.sampled_from([A, B, VOID, ROUND])))
def test_nothing_void_is_in_the_last_text(events: list[ChatEvent]) -> None:
    borders = [n for n, each in enumerate(events, 1) if each in (VOID, ROUND)]
    valid = events[borders[-1] if borders else 0 :]

    assert collected(*events)[-1] == "".join(
        each.text for each in valid if isinstance(each, TextDelta)
    )


def test_an_agent_is_shown_by_it() -> None:
    flow = Agent(ScriptedModel("hello there")).stream("hi").pipe(collect_text())
    assert flow.run() == "hello there"


def test_the_text_of_responses_is_an_error_and_not_nothing() -> None:
    responses: Any = Agent(ScriptedModel("hello")).call("hi")

    with pytest.raises(ConfigurationError, match=r"agent\.stream"):
        responses.pipe(collect_text()).run()
