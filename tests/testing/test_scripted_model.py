from __future__ import annotations

from typing import Any

import pytest
from reactivex.testing import TestScheduler

from rxagent import Agent
from rxagent.errors import ConfigurationError, RateLimitError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import ToolCall, UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.testing import (
    Reply,
    ScriptedModel,
    Step,
    assert_exchange_laws,
    tool_call,
)
from rxagent.usage import Usage
from tests.marbles import emitted

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))


def ask(model: ScriptedModel) -> list[ChatEvent]:
    return list(Agent(model).stream("hi"))


def test_a_text_is_one_delta_and_the_answer() -> None:
    events = ask(ScriptedModel("hello"))

    assert events[0] == TextDelta(text="hello")
    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "hello"
    assert events[-1].response.finish_reason == "stop"


def test_a_reply_has_reasoning_text_calls_and_usage() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, requests=1)
    reply = Reply(
        reasoning=("h", "m"),
        deltas=("a", "b"),
        calls=(tool_call("f", x=1),),
        usage=usage,
    )
    events: list[ChatEvent] = []
    just(REQUEST).pipe(ScriptedModel(reply)).subscribe(events.append)

    end = events[-1]
    assert isinstance(end, Finished)
    assert events[:2] == [ReasoningDelta(text="h"), ReasoningDelta(text="m")]
    assert end.response.reasoning == "hm"
    assert end.response.text == "ab"
    assert end.response.finish_reason == "tool_calls"
    assert end.response.usage == usage
    assert end.response.tool_calls == (
        ToolCall(id="call_0_0", name="f", arguments='{"x": 1}'),
    )


def test_an_error_comes_after_what_was_delivered() -> None:
    slow_down = RateLimitError("slow down", retry_after_s=2)
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    model = ScriptedModel(Reply(deltas=("par",), error=slow_down), slow_down)

    for _ in range(2):
        just(REQUEST).pipe(model).subscribe(events.append, errors.append)

    assert events == [TextDelta(text="par")]
    assert errors == [slow_down, slow_down]


def test_delays_run_in_virtual_time() -> None:
    scheduler = TestScheduler()
    model = ScriptedModel(Reply(deltas=("a", "b"), first_s=50, gap_s=10))

    got = scheduler.start(lambda: just(REQUEST).pipe(model))

    assert [time for time, _ in emitted(got.messages)] == [250, 260, 270]
    assert got.messages[-1].time == 270


def test_leaving_stops_the_script_where_it_is() -> None:
    scheduler = TestScheduler()
    model = ScriptedModel(Reply(deltas=("a", "b", "c"), gap_s=100))

    got = scheduler.start(lambda: just(REQUEST).pipe(model), disposed=350)

    assert [event.text for _, event in emitted(got.messages)] == ["a", "b"]


def test_real_delays_need_no_scheduler() -> None:
    assert ask(ScriptedModel(Reply(deltas=("a",), first_s=0.001)))[0] == TextDelta(
        text="a"
    )


def test_a_step_can_be_a_function_of_the_request() -> None:
    def shout(request: ChatRequest) -> Step:
        return request.messages[-1].text.upper()

    assert ask(ScriptedModel(shout))[0] == TextDelta(text="HI")


def test_requests_are_recorded_in_order() -> None:
    model = ScriptedModel("a", "b")
    agent = Agent(model)

    agent.call("first").run()
    agent.call("second").run()

    assert [request.messages[-1].text for request in model.requests] == [
        "first",
        "second",
    ]


def test_an_unused_step_is_found() -> None:
    model = ScriptedModel("a", "b")
    ask(model)

    with pytest.raises(AssertionError, match="1 of 2 steps of the script"):
        model.assert_used_up()
    ask(model)
    model.assert_used_up()


def test_a_request_too_many_is_an_error() -> None:
    model = ScriptedModel("a")
    ask(model)

    with pytest.raises(AssertionError, match="has 1 steps, but request 2 came"):
        ask(model)


def test_what_is_no_step_says_what_is() -> None:
    steps: Any = ["a", "b"]

    with pytest.raises(ConfigurationError, match="one argument for each step"):
        ask(ScriptedModel(steps))


def test_the_last_step_can_repeat_and_holds_the_laws() -> None:
    model = ScriptedModel("a", "b", repeat_last=True)
    ask(model)

    assert_exchange_laws(model, request=REQUEST)
