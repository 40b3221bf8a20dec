from __future__ import annotations

import pytest
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import OVER_BUDGET, TOO_LONG, budget, tool_loop
from rxagent.agent import Agent
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.events import Finished, TextDelta
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.named import Order, by_order
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, Limit
from rxagent.testing import Reply, ScriptedModel, assert_advisor_laws, tool_call
from rxagent.tools import tool
from rxagent.usage import Usage
from tests.marbles import Letters, comparable, drawn


def test_a_prompt_that_is_too_long_never_gets_to_the_model() -> None:
    """S001-130, S001-17."""
    model = ScriptedModel()
    agent = Agent(model, advisors=[budget()], context={"tenant": "a"})
    reason = (
        "the request has 8001 characters, and 8000 are allowed; "
        "make it shorter or raise max_chars"
    )

    response = agent.call("x" * 8001).run()

    assert model.requests == []
    assert response.text == TOO_LONG
    assert (response.finish_reason, response.blocked_by) == ("blocked", "budget")
    assert response.context == Context({"tenant": "a"}).set(OVER_BUDGET, reason)
    assert response.limit == Limit(name="max_chars", value=8000, message=reason)
    assert response.usage == Usage()
    assert response.transcript == ()


def test_it_streams_as_it_is_called() -> None:
    """S001-130."""
    agent = Agent(ScriptedModel(), advisors=[budget(max_chars=3, refusal="Short!")])

    events = list(agent.stream("long"))

    assert [type(event) for event in events] == [TextDelta, Finished]
    assert agent.call("long").run() == events[-1].response  # type: ignore[union-attr]


def test_a_prompt_that_just_fits_passes() -> None:
    """S001-130."""
    agent = Agent(ScriptedModel("ok"), advisors=[budget()])

    response = agent.call("x" * 8000).run()

    assert response.text == "ok"
    assert OVER_BUDGET not in response.context


def test_every_message_counts_and_the_arguments_of_calls_too() -> None:
    call = ToolCall(id="1", name="f", arguments='{"a": 1}')
    messages: list[Message] = [
        SystemMessage.of("12"),
        UserMessage.of("345"),
        AssistantMessage.of("6", call),
        ToolMessage.of("7", call=call),
    ]

    def passes(max_chars: int) -> bool:
        agent = Agent(ScriptedModel("ok"), advisors=[budget(max_chars=max_chars)])
        return agent.call(messages).run().text == "ok"

    assert passes(7 + len(call.arguments))
    assert not passes(6 + len(call.arguments))


def test_tokens_are_counted_by_whoever_can() -> None:
    def words(message: Message) -> int:
        return len(message.text.split())

    advisor = budget(max_chars=None, max_tokens=3, count=words)
    agent = Agent(ScriptedModel("ok"), advisors=[advisor])

    assert agent.call("one two " + "x" * 9000).run().text == "ok"
    response = agent.call("one two three four").run()
    assert response.limit is not None
    assert (response.limit.name, response.limit.value) == ("max_tokens", 3)
    assert "4 tokens" in response.context[OVER_BUDGET]


def test_behind_the_tool_loop_it_stops_a_turn_that_grows_too_long() -> None:
    @tool
    def read() -> str:
        """Read."""
        return "x" * 100

    model = ScriptedModel(Reply(calls=(tool_call("read"),)))
    advisors = [tool_loop(), budget(max_chars=50)]

    response = Agent(model, tools=[read], advisors=advisors).call("go").run()

    assert len(model.requests) == 1
    assert (response.finish_reason, response.blocked_by) == ("blocked", "budget")


def test_it_stands_where_guards_stand() -> None:
    """S001-130: order MIN+150."""
    guard = budget(max_tokens=9)

    assert by_order([tool_loop(), guard])[0] is guard
    assert Order.GUARD == Order.FIRST + 150
    assert repr(guard) == "budget(max_chars=8000, max_tokens=9)"


def test_a_budget_without_a_limit_or_with_a_wrong_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_chars or max_tokens"):
        budget(max_chars=None)
    with pytest.raises(ConfigurationError, match="max_chars"):
        budget(max_chars=0)
    with pytest.raises(ConfigurationError, match="count takes a function"):
        budget(max_tokens=1, count=4)  # type: ignore[arg-type]


@pytest.mark.parametrize("max_chars", [1, 100])
def test_it_holds_the_laws(max_chars: int) -> None:
    assert_advisor_laws(budget(max_chars=max_chars))


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(budget.__doc__)
    assert given_ is not None
    request = ChatRequest(messages=(UserMessage.of("x" * 8001),))
    reason = (
        "the request has 8001 characters, and 8000 are allowed; "
        "make it shorter or raise max_chars"
    )
    response = ChatResponse(
        message=AssistantMessage.of(TOO_LONG),
        finish_reason="blocked",
        blocked_by="budget",
        context=Context().set(OVER_BUDGET, reason),
        limit=Limit(name="max_chars", value=8000, message=reason),
    )
    letters: Letters = {
        "q": request,
        "t": TextDelta(text=TOO_LONG),
        "F": Finished(response=response),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        got = start(cold(given_, letters, None).pipe(budget()(ScriptedModel())))
        assert comparable(got) == comparable(exp(expected, letters, None))
