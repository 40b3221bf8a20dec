"""The limits of a turn: what stops it, how, and what is kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import after, before
from rxagent.context import Context
from rxagent.errors import AdvisorError, ConfigurationError, LimitError
from rxagent.events import (
    ChatEvent,
    Finished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from rxagent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, concurrent, threads, tool
from rxagent.usage import Usage
from tests.marbles import emitted

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
async def ping(text: str) -> str:
    """Say it back."""
    ran.append(f"ping {text}")
    return text


@tool
async def pong(text: str) -> str:
    """Say it back."""
    ran.append(f"pong {text}")
    return text


def pings(*texts: str, usage: Usage | None = None) -> Reply:
    calls = tuple(tool_call("ping", text=text) for text in texts)
    return Reply(calls=calls, usage=usage or Usage(requests=1))


def spent(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=0, requests=1)


def asked(*steps: Reply | str, **options: Any) -> tuple[ChatResponse, ScriptedModel]:
    model = ScriptedModel(*steps)
    loop = tool_loop(**options)
    agent = Agent(model, tools=[ping, pong], advisors=[loop])
    return agent.call("go").run(), model


def assert_paired(messages: Sequence[Message]) -> None:
    """Every call has its result, right behind it."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
        else:
            assert isinstance(message, ToolMessage)
            assert message.tool_call_id == waiting.pop(0)
    assert waiting == []


def test_a_limit_on_calls_ends_the_turn_and_keeps_what_was_done() -> None:
    """S001-66, S001-67, S001-69, V-14, V-15."""
    response, model = asked(
        pings("a", "b", usage=spent(5)), pings("c", usage=spent(7)), max_calls=2
    )

    assert response.finish_reason == "tool_limit"
    assert response.limit is not None
    assert (response.limit.name, response.limit.value) == ("max_calls", 2)
    assert "raise max_calls" in response.limit.message
    assert ran == ["ping a", "ping b"]
    assert response.usage.total_tokens == 12
    assert_paired(response.transcript)
    last = response.transcript[-1]
    assert isinstance(last, ToolMessage)
    assert last.is_error
    assert "did not run" in last.text
    model.assert_used_up()


def test_a_batch_that_would_pass_a_limit_runs_none_of_its_calls() -> None:
    response, _ = asked(pings("a", "b", "c"), max_calls=2)

    assert ran == []
    assert response.finish_reason == "tool_limit"
    assert_paired(response.transcript)


@pytest.mark.parametrize(
    ("per_tool", "expected"),
    [
        (1, ["ping a", "pong b"]),
        ({"ping": 1}, ["ping a", "pong b", "pong d"]),
        ({"pong": 1, "ping": None}, ["ping a", "pong b", "ping c"]),
    ],
)
def test_each_tool_has_a_limit_of_its_own(
    per_tool: int | Mapping[str, int | None], expected: list[str]
) -> None:
    """S001-62, V-14: earlier rounds count."""
    calls = [
        Reply(calls=(tool_call(name, text=text),))
        for name, text in (("ping", "a"), ("pong", "b"), ("ping", "c"), ("pong", "d"))
    ]
    response, _ = asked(*calls, "done", max_calls_per_tool=per_tool, on_limit="tell")

    assert ran == expected
    assert response.text == "done"
    assert response.limit is None


def test_told_of_a_limit_on_calls_the_model_goes_on_with_the_rest_of_the_batch() -> (
    None
):
    """V-15."""
    both = Reply(calls=(tool_call("ping", text="a"), tool_call("pong", text="b")))
    again = Reply(calls=(tool_call("ping", text="c"), tool_call("pong", text="d")))
    response, model = asked(
        both, again, "done", max_calls_per_tool={"ping": 1}, on_limit="tell"
    )

    assert ran == ["ping a", "pong b", "pong d"]
    assert response.text == "done"
    told = model.requests[2].messages[-2:]
    said = "the call did not run: a turn may call tool 'ping' 1 times; "
    assert [message.text for message in told] == [
        f"{said}answer with what you have",
        "d",
    ]
    assert model.requests[2].options.tool_choice is None
    assert_paired(response.transcript)


def test_identical_calls_are_counted_by_their_arguments() -> None:
    response, _ = asked(
        pings("a"), pings("b"), pings("a"), pings("a"), max_identical_calls=2
    )

    assert ran == ["ping a", "ping b", "ping a"]
    assert response.limit is not None
    assert response.limit.name == "max_identical_calls"


def test_told_that_no_round_is_left_the_model_answers_without_tools() -> None:
    response, model = asked(
        pings("a"), pings("b"), "so far a and b", max_rounds=2, on_limit="tell"
    )

    assert response.text == "so far a and b"
    assert response.finish_reason == "stop"
    assert [each.options.tool_choice for each in model.requests] == [None, None, "none"]


def test_a_model_that_calls_all_the_same_is_ended() -> None:
    response, _ = asked(pings("a"), pings("b"), max_rounds=1, on_limit="tell")

    assert ran == ["ping a"]
    assert response.finish_reason == "tool_limit"
    assert_paired(response.transcript)


@pytest.mark.parametrize(
    ("options", "name", "says"),
    [
        ({"max_tokens": 10}, "max_tokens", "12 tokens"),
        (
            {"max_cost": 1.0, "cost": lambda usage, _: usage.total_tokens / 10},
            "max_cost",
            "has cost 1.2",
        ),
    ],
)
def test_what_a_turn_may_spend_is_looked_at_before_it_spends_more(
    options: Mapping[str, Any], name: str, says: str
) -> None:
    """S000-20."""
    response, model = asked(pings("a", usage=spent(12)), **options)

    assert ran == ["ping a"]
    assert response.limit is not None
    assert response.limit.name == name
    assert says in response.limit.message
    assert len(model.requests) == 1


def test_a_limit_may_raise_with_its_numbers() -> None:
    """S001-66."""
    with pytest.raises(LimitError, match="raise max_tokens") as caught:
        asked(pings("a", usage=spent(12)), max_tokens=10, on_limit="raise")

    assert (caught.value.name, caught.value.value) == ("max_tokens", 10)
    assert caught.value.usage is not None
    assert caught.value.usage.total_tokens == 12


def test_each_limit_may_have_an_end_of_its_own() -> None:
    options = {"max_rounds": 1, "on_limit": {"max_rounds": "tell"}, "max_tokens": 100}
    told, _ = asked(pings("a"), "done", **options)
    ended, _ = asked(pings("a", usage=spent(200)), **options | {"max_rounds": 5})

    assert (told.text, told.limit) == ("done", None)
    assert ended.finish_reason == "tool_limit"


def test_time_is_that_of_the_scheduler_and_tools_get_what_is_left() -> None:
    """Law: time comes from the scheduler."""
    deadlines: list[object] = []

    @tool
    def wait(seconds: float, me: ToolContext) -> Observable[str]:
        """Wait."""
        deadlines.append(me.deadline)
        return reactivex.timer(seconds).pipe(ops.map(lambda _: "waited"))

    def waits(seconds: float) -> Reply:
        return Reply(calls=(tool_call("wait", seconds=seconds),))

    scheduler = TestScheduler()
    model = ScriptedModel(waits(20.0), waits(60.0))
    agent = Agent(model, tools=[wait], advisors=[tool_loop(max_seconds=50)])

    got = scheduler.start(lambda: agent.stream("go"), disposed=1_000)

    events = [event for _, event in emitted(got.messages)]
    done = [each for each in events if isinstance(each, ToolFinished)]
    said = "TimeoutError: no result after 30 s; nobody waits for it any more, though "
    assert [each.message.text for each in done] == [
        "waited",
        f"{said}it may still have its effect",
    ]
    assert done[1].failure == "transient"
    assert deadlines == [scheduler.to_datetime(250)] * 2
    assert isinstance(events[-1], Finished)
    limit = events[-1].response.limit
    assert limit is not None
    assert (limit.name, limit.value) == ("max_seconds", 50)
    assert got.messages[-1] == ReactiveTest.on_completed(250)


def test_limits_count_in_one_turn_and_not_over_turns() -> None:
    """V-14, law 7."""
    model = ScriptedModel(pings("a"), "one", pings("a"), "two")
    agent = Agent(model, tools=[ping], advisors=[tool_loop(max_calls=1)])

    assert [agent.call("go").run().text for _ in range(2)] == ["one", "two"]


def test_remembered_conversations_do_not_count() -> None:
    """V-14."""
    model = ScriptedModel(pings("a"), "done")
    agent = Agent(model, tools=[ping], advisors=[tool_loop(max_calls=1)])
    before, _ = asked(pings("x"), "earlier")

    response = agent.call(
        [UserMessage.of("go"), *before.transcript, UserMessage.of("again")]
    ).run()

    assert response.text == "done"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_tokens": 0}, "max_tokens must be 1 or more, got 0"),
        ({"max_calls_per_tool": {"f": 0}}, r"max_calls_per_tool\['f'\] must be 1"),
        ({"max_seconds": 0}, "max_seconds must be more than 0 seconds, .* got 0"),
        ({"max_cost": 1.0}, "max_cost needs cost="),
        ({"cost": len}, "cost needs max_cost"),
        ({"on_limit": {"max_round": "tell"}}, "on_limit names max_round; the limits"),
        ({"approval_timeout_s": 0}, "approval_timeout_s must be more than 0"),
        ({"max_calls": True}, "max_calls must be 1 or more, got True"),
        ({"max_rounds": 2.5}, "max_rounds must be 1 or more, got 2.5"),
        ({"max_seconds": float("inf")}, "max_seconds must be more than 0 .* got inf"),
        ({"max_seconds": "5"}, "max_seconds must be more than 0 seconds, .* got '5'"),
        ({"max_seconds": True}, "max_seconds must be more than 0 seconds, .* got True"),
        ({"max_cost": "1", "cost": len}, "max_cost must be more than 0, got '1'"),
        ({"max_result_chars": "x"}, "max_result_chars must be 1 or more, got 'x'"),
        ({"on_limit": "rasie"}, "on_limit must be one of"),
        ({"on_environment": "paus"}, "on_environment must be one of"),
        ({"executor": 5}, "executor takes an executor, .* and not 5"),
        ({"executor": concurrent}, "executor takes an executor, .* <function conc"),
        ({"executor": threads}, "executor takes an executor, .* <function threads"),
        (
            {"executor": ThreadPoolExecutor()},
            r"executor takes .* futures\(pool\), and not <concurrent.futures.thread",
        ),
        ({"eligible": 5}, "eligible takes a function, not 5"),
        ({"approve": 5}, "approve takes a function, not 5"),
        ({"claim": 5}, "claim takes a function, not 5"),
        ({"needs_approval": "no"}, "needs_approval must be True, False or a"),
        ({"needs_approval": None}, "needs_approval must be True, False or a"),
        ({"needs_approval": ping.function}, "needs_approval takes a plain function"),
        ({"approve": ping.function}, "approve takes a plain function"),
        ({"raises": ValueError}, "raises takes a tuple of exception types"),
        ({"failures": {ValueError: "bogus"}}, r"failures\[ValueError\] must be one of"),
        ({"failures": {"x": "semantic"}}, "failures takes kinds by types of exc"),
        ({"failures": [ValueError]}, "failures takes kinds by types of exc"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_when_built(
    options: Mapping[str, object], says: str
) -> None:
    """S000-34."""
    with pytest.raises(ConfigurationError, match=says):
        cast("Any", tool_loop)(**options)


def test_eligibility_is_asked_once_a_round_with_the_response_and_the_context() -> None:
    """S000-18, S000-20, S001-65, V-8."""
    seen: list[tuple[int, object]] = []

    def eligible(response: ChatResponse, context: Context) -> bool:
        seen.append((len(response.tool_calls), context["budget"]))
        return len(seen) < 2

    model = ScriptedModel(pings("a"), pings("b", "c"))
    agent = Agent(model, tools=[ping], advisors=[tool_loop(eligible=eligible)])

    events = list(agent.stream("go", context={"budget": 7}))

    assert seen == [(1, 7), (2, 7)]
    last = events[-1]
    assert isinstance(last, Finished)
    assert [call.name for call in last.response.tool_calls] == ["ping", "ping"]
    assert ran == ["ping a"]


def test_usage_of_all_rounds_is_on_every_way_out() -> None:
    """S001-69."""
    ways: list[tuple[tuple[Reply | str, ...], Mapping[str, Any]]] = [
        ((pings("a", usage=spent(5)), Reply(deltas=("x",), usage=spent(7))), {}),
        ((pings("a", usage=spent(5)), pings("b", usage=spent(7))), {"max_rounds": 2}),
        ((pings("a", usage=spent(5)), pings("b", usage=spent(7))), {"max_calls": 1}),
    ]
    for steps, options in ways:
        response, _ = asked(*steps, **options)
        assert response.usage.total_tokens == 12
        assert response.usage.requests == 2


def test_every_request_of_a_limited_turn_has_its_calls_answered() -> None:
    _, model = asked(
        pings("a", "b"), pings("c", "c"), "x", max_identical_calls=1, on_limit="tell"
    )

    for request in model.requests:
        assert_paired(request.messages[1:])


def test_tools_added_inside_the_loop_run_and_others_do_not() -> None:
    """S001-63, V-12: what the model was offered is what may run."""

    def add(request: ChatRequest) -> ChatRequest:
        return replace(request, tools=(*request.tools, pong))

    model = ScriptedModel(
        Reply(calls=(tool_call("pong", text="a"), tool_call("nope"))), "done"
    )
    agent = Agent(model, tools=[ping], advisors=[tool_loop(), before(add)])

    events: list[ChatEvent] = list(agent.stream("go"))

    assert ran == ["pong a"]
    assert [each.call.name for each in events if isinstance(each, ToolStarted)] == [
        "pong"
    ]
    refused = model.requests[1].messages[-1]
    assert refused.text == "there is no tool 'nope'; the tools are: ping, pong"
    assert [tool.name for tool in model.requests[1].tools] == ["ping", "pong"]


def test_a_model_that_never_does_what_it_is_told_is_ended() -> None:
    model = ScriptedModel(pings("a"), repeat_last=True)
    loop = tool_loop(max_rounds=None, max_calls=2, on_limit="tell")
    response = Agent(model, tools=[ping], advisors=[loop]).call("go").run()

    assert ran == ["ping a", "ping a"]
    assert response.finish_reason == "tool_limit"
    assert len(model.requests) == 5, "it is told twice"


def test_a_tool_that_the_model_was_not_offered_does_not_run() -> None:
    """V-12: also if it was offered none."""

    def none(request: ChatRequest) -> ChatRequest:
        return replace(request, tools=())

    model = ScriptedModel(pings("a"), "done")
    Agent(model, tools=[ping], advisors=[tool_loop(), before(none)]).call("go").run()

    assert ran == []
    assert "there are no tools" in model.requests[1].messages[-1].text


def test_identical_calls_are_those_that_say_the_same() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add."""
        ran.append("add")
        return a + b

    texts = ('{"a":1,"b":2}', '{"b": 2, "a": 1}')
    calls = [Reply(calls=(ToolCall(id="", name="add", arguments=t),)) for t in texts]
    loop = tool_loop(max_identical_calls=1)
    response = (
        Agent(ScriptedModel(*calls), tools=[add], advisors=[loop]).call("x").run()
    )

    assert ran == ["add"]
    assert response.finish_reason == "tool_limit"


def test_an_answer_without_an_end_is_an_error_and_no_endless_turn() -> None:
    """Law 8."""
    texts = after(ops.filter(lambda event: isinstance(event, TextDelta)))
    agent = Agent(ScriptedModel("x"), tools=[ping], advisors=[tool_loop(), texts])

    with pytest.raises(AdvisorError, match="completed without a Finished event"):
        agent.call("go").run()


@pytest.mark.parametrize("said", [None, "1", float("nan"), -1.0])
def test_a_cost_that_is_no_amount_is_named(said: object) -> None:
    """A sum with a NaN would never reach any limit."""
    loop = tool_loop(max_cost=1.0, cost=cast("Any", lambda *_: said))
    agent = Agent(ScriptedModel("hi"), tools=[ping], advisors=[loop])

    with pytest.raises(AdvisorError, match=f"was told {said!r} by cost"):
        agent.call("go").run()


def test_a_model_that_counts_no_tokens_is_named_once_a_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S000-34: a limit that does nothing is not silent about it."""
    calls = [Reply(calls=(tool_call("ping", text="x"),))] * 3
    loop = tool_loop(max_tokens=1)
    agent = Agent(ScriptedModel(*calls, "end"), tools=[ping], advisors=[loop])

    with caplog.at_level(logging.WARNING):
        agent.call("go").run()

    (told,) = caplog.messages
    assert "scripted says nothing of its tokens, so max_tokens=1 cannot stop" in told
