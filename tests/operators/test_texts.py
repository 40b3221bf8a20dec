from __future__ import annotations

import pytest

from rxagent.agent import Agent
from rxagent.errors import RetractedError
from rxagent.events import ChatEvent, Retracted, RoundFinished, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.operators import just
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import ScriptedModel

A, B = TextDelta(text="a"), TextDelta(text="b")
VOID = Retracted(reason="a guard")
ROUND = RoundFinished(response=ChatResponse(message=AssistantMessage.of("a")))


def test_text_that_becomes_void_is_an_error_where_it_cannot_be_cleared() -> None:
    flow = Flow[ChatEvent].of(just(A, VOID, B))
    seen: list[str] = []
    errors: list[Exception] = []

    flow.text().subscribe(seen.append, errors.append)

    assert seen == ["a"]
    [error] = errors
    assert isinstance(error, RetractedError)
    assert error.reason == "a guard"
    with pytest.raises(RetractedError, match=r"void \(a guard\).*collect_text"):
        flow.text().run()


@pytest.mark.parametrize(
    "events", [[VOID, A], [TextDelta(text=""), VOID, A], [B, ROUND, VOID, A]]
)
def test_where_no_text_is_void_text_goes_on(events: list[ChatEvent]) -> None:
    assert list(Flow.of(just(*events)).text())[-1] == "a"


def test_the_response_of_a_turn_knows_nothing_of_it() -> None:
    agent = Agent(ScriptedModel("hello"))
    assert agent.call("hi").run().text == "hello"
