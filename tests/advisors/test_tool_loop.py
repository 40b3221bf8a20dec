from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import safeguard, tool_loop
from rxagent.agent import Agent
from rxagent.chain import after, around, before
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.events import (
    ChatEvent,
    Finished,
    RoundFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from rxagent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.named import named
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.responses import ChatResponse
from rxagent.runtime import iterate
from rxagent.testing import (
    Reply,
    ScriptedModel,
    assert_advisor_laws,
    assert_grammar,
    tool_call,
)
from rxagent.tools import Tool, ToolContext, concurrent, tool
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage
from tests.marbles import Letters, comparable, drawn, emitted
from tests.test_chain import probe

subscribe = ReactiveTest.subscribe


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def slow(text: str, seconds: float) -> Observable[str]:
    """Say a text, late, on the scheduler."""
    return reactivex.timer(seconds).pipe(ops.map(lambda _: text))


def kinds(events: Sequence[ChatEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_tool_runs_and_the_model_answers_with_its_result() -> None:
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three")
    agent = Agent(model, tools=[add])

    events = list(agent.stream("1 + 2?"))

    assert kinds(events) == [
        "ToolCallDelta",
        "RoundFinished",
        "ToolStarted",
        "ToolFinished",
        "TextDelta",
        "Finished",
    ]
    call = ToolCall(id="call_0_0", name="add", arguments='{"a": 1, "b": 2}')
    assert model.requests[1].messages == (
        UserMessage.of("1 + 2?"),
        AssistantMessage.of(call),
        ToolMessage.of("3", call=call),
    )
    model.assert_used_up()


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_demanded_call_is_demanded_once(choice: str) -> None:
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three")
    options = ChatOptions(tool_choice=choice, temperature=0.0)

    Agent(model, tools=[add]).call("1 + 2?", options=options).run()

    assert [each.options for each in model.requests] == [
        options,
        ChatOptions(tool_choice="auto", temperature=0.0),
    ]


def three_rounds() -> ScriptedModel:
    calls = [Reply(calls=(tool_call("add", a=n, b=n),)) for n in range(3)]
    return ScriptedModel(*calls, "done")


def test_three_tool_rounds_pass_outer_advisors_once_and_inner_ones_4_times() -> None:
    """S000-1, S000-2, S001-59, S003-3, S003-13, law 6."""
    seen: list[str] = []
    advisors = [
        probe("turn 1", seen),
        probe("turn 2", seen),
        tool_loop(),
        probe("round 1", seen),
        probe("round 2", seen),
    ]
    model = three_rounds()

    Agent(model, tools=[add], advisors=advisors).call("add").run()

    one_round = ["round 1 in", "round 2 in", "round 2 back", "round 1 back"]
    assert seen == [
        *("turn 1 in", "turn 2 in"),
        *(one_round * 4),
        *("turn 2 back", "turn 1 back"),
    ]
    assert len(model.requests) == 4


def test_each_round_sees_the_whole_history_and_knows_its_number() -> None:
    """S001-71, S003-6, S003-15."""
    model = three_rounds()

    Agent(model, tools=[add], name="a").call("add").run()

    assert [len(request.messages) for request in model.requests] == [1, 3, 5, 7]
    assert [request.origin.round for request in model.requests] == [0, 1, 2, 3]
    assert {request.origin.path for request in model.requests} == {("a",)}
    assert len({request.origin.run_id for request in model.requests}) == 1


def test_events_carry_the_round_they_belong_to() -> None:
    events = list(Agent(three_rounds(), tools=[add]).stream("add"))

    rounds = [event.origin.round for event in events]
    assert rounds == sorted(rounds)
    assert rounds[-1] == 3


def test_the_response_has_the_usage_and_the_transcript_of_all_rounds() -> None:
    """S001-69, S001-86."""
    model = ScriptedModel(
        Reply(
            deltas=("let me see",),
            calls=(tool_call("add", a=1, b=2),),
            usage=Usage(output_tokens=10, requests=1),
        ),
        Reply(deltas=("three",), usage=Usage(output_tokens=20, requests=1)),
    )

    response = Agent(model, tools=[add]).call("1 + 2?").run()

    assert response.text == "three"
    assert (response.usage.output_tokens, response.usage.requests) == (30, 2)
    assert [type(message) for message in response.transcript] == [
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]


def test_results_are_in_the_order_of_the_calls_and_events_as_they_happen() -> None:
    """M-15, S000-22: in virtual time, with the ticks."""
    model = ScriptedModel(
        Reply(
            calls=(
                tool_call("slow", text="first", seconds=100),
                tool_call("slow", text="second", seconds=10),
            )
        ),
        "done",
    )
    scheduler = TestScheduler()
    agent = Agent(model, tools=[slow])

    got = scheduler.start(lambda: agent.stream("go"))

    finished = [
        (time, event.message.text)
        for time, event in emitted(got.messages)
        if isinstance(event, ToolFinished)
    ]
    assert finished == [(210, "second"), (300, "first")]
    results = [m.text for m in model.requests[1].messages if isinstance(m, ToolMessage)]
    assert results == ["first", "second"]
    assert got.messages[-1].time == 300


def test_no_more_calls_run_at_once_than_allowed() -> None:
    calls = tuple(tool_call("slow", text=str(n), seconds=10) for n in range(6))
    scheduler = TestScheduler()
    agent = Agent(
        ScriptedModel(Reply(calls=calls), "done"),
        tools=[slow],
        advisors=[tool_loop(executor=concurrent(max_concurrency=2))],
    )

    got = scheduler.start(lambda: agent.stream("go"))

    started = [
        time for time, event in emitted(got.messages) if isinstance(event, ToolStarted)
    ]
    assert started == [200, 200, 210, 210, 220, 220]


def test_disposing_while_a_tool_runs_cancels_it_and_asks_the_model_no_more() -> None:
    """Law 5."""
    model = ScriptedModel(
        Reply(calls=(tool_call("slow", text="never", seconds=900),)), "never"
    )
    scheduler = TestScheduler()
    work = scheduler.create_cold_observable(ReactiveTest.on_next(900, "never"))

    @tool(name="slow")
    def observed(text: str, seconds: float) -> Observable[str]:
        """Wait."""
        return work

    scheduler.start(lambda: Agent(model, tools=[observed]).stream("go"), disposed=500)

    assert work.subscriptions == [subscribe(200, 500)]
    assert len(model.requests) == 1


def test_disposing_between_two_events_of_any_kind_leaves_nothing_running() -> None:
    """Law 5, at every event of a turn with tools."""
    whole = list(Agent(three_rounds(), tools=[add]).stream("add"))
    for count in range(len(whole)):
        model = three_rounds()
        rounds = sum(isinstance(event, RoundFinished) for event in whole[:count])
        seen = list(Agent(model, tools=[add]).stream("add").pipe(ops.take(count)))
        assert kinds(seen) == kinds(whole[:count])
        assert len(model.requests) <= rounds + 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (tool_call("subtract", a=1), ["subtract", "add", "slow"]),
        (tool_call("add", a=1), ["b"]),
        (tool_call("add", a="x", b=2), ["a"]),
        (tool_call("add", a=1, b=2, c=3), ["c"]),
        (ToolCall(id="", name="add", arguments="{a: 1"), ["JSON"]),
        (ToolCall(id="", name="add", arguments="[1, 2]"), ["object"]),
        (
            ToolCall(id="", name="add", arguments='{"a": 1, "b": 2}', truncated=True),
            ["limit"],
        ),
    ],
    ids=[
        "unknown tool",
        "missing argument",
        "wrong type",
        "extra argument",
        "broken JSON",
        "not an object",
        "cut off",
    ],
)
def test_a_call_that_cannot_run_is_answered_and_the_turn_goes_on(
    call: ToolCall, says: list[str]
) -> None:
    """V-11, V-13, M-55."""
    model = ScriptedModel(Reply(calls=(call,)), "I see")

    events = list(Agent(model, tools=[add, slow]).stream("go"))

    assert "ToolStarted" not in kinds(events)
    result = model.requests[1].messages[-1]
    assert isinstance(result, ToolMessage)
    assert result.is_error
    for word in says:
        assert word in result.text
    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "I see"


def test_a_tool_that_raises_is_told_to_the_model_and_its_siblings_are_kept() -> None:
    """S000-29, S000-30."""

    @tool
    def boom() -> str:
        """Fail."""
        raise ValueError("disk full")

    model = ScriptedModel(
        Reply(calls=(tool_call("add", a=1, b=1), tool_call("boom"))), "sorry"
    )

    Agent(model, tools=[add, boom]).call("go").run()

    good, bad = model.requests[1].messages[-2:]
    assert isinstance(good, ToolMessage)
    assert isinstance(bad, ToolMessage)
    assert (good.text, good.is_error) == ("2", False)
    assert bad.is_error
    assert "disk full" in bad.text


def test_an_endless_turn_ends_with_its_own_outcome_and_keeps_its_results() -> None:
    """S001-67, S001-137: typed, and not an answer in disguise."""
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=1),)), repeat_last=True)
    agent = Agent(model, tools=[add], advisors=[tool_loop(max_rounds=3)])

    for _ in range(2):
        model.requests.clear()
        response = agent.call("go").run()

        assert response.finish_reason == "tool_limit"
        assert response.limit is not None
        assert (response.limit.name, response.limit.value) == ("max_rounds", 3)
        assert "max_rounds" in response.limit.message
        assert len(model.requests) == 3
        assert_paired(response.transcript)
        assert response.usage.requests == 3


def test_without_a_limit_of_ones_own_a_turn_has_ten_rounds() -> None:
    """M-21: it ends and does not raise, and its records are all there."""
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=1),)), repeat_last=True)

    response = Agent(model, tools=[add]).call("go").run()

    assert response.limit is not None
    assert (response.limit.name, response.limit.value) == ("max_rounds", 10)
    assert len(model.requests) == 10
    assert len(response.transcript) == 20


def assert_paired(messages: Sequence[Message]) -> None:
    """Every call is answered once, right after its message, in order."""
    open_: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert open_.pop(0) == message.tool_call_id
        else:
            assert open_ == []
            if isinstance(message, AssistantMessage):
                open_ = [call.id for call in message.tool_calls]
    assert open_ == []


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [("max_rounds", 0, 1), ("max_calls", 0, 1), ("max_result_chars", 0, 1)],
)
def test_a_limit_too_low_is_refused_when_built(
    option: str, value: int, least: int
) -> None:
    """S000-34."""
    says = f"{option} must be {least} or more, got {value}"
    with pytest.raises(ConfigurationError, match=says):
        cast("Any", tool_loop)(**{option: value})


def test_tools_see_one_snapshot_of_the_context_in_every_round() -> None:
    """M-12, M-70."""
    seen: list[object] = []

    @tool
    def look(ctx: ToolContext) -> str:
        """Look."""
        seen.append((dict(ctx.context), ctx.call.name))
        return "ok"

    def mark(request: ChatRequest) -> ChatRequest:
        return replace(request, context=request.context | {"inner": True})

    model = ScriptedModel(Reply(calls=(tool_call("look"),)), "done")
    agent = Agent(model, tools=[look], advisors=[tool_loop(), before(mark)])

    response = agent.call("go", context={"tenant": "a"}).run()

    assert seen == [({"tenant": "a", "inner": True}, "look")]
    assert response.context == Context({"tenant": "a", "inner": True})
    assert model.requests[1].context == response.context


def test_an_error_of_the_model_in_a_later_round_arrives_as_it_is() -> None:
    broken = OSError("broken")
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=1),)), broken)

    with pytest.raises(OSError, match="broken") as at:
        Agent(model, tools=[add]).call("go").run()

    assert at.value is broken


def test_an_inner_block_ends_the_turn() -> None:
    model = ScriptedModel()
    agent = Agent(model, tools=[add], advisors=[tool_loop(), safeguard(["bomb"])])

    response = agent.call("bomb").run()

    assert response.blocked_by == "safeguard"
    assert model.requests == []


def test_interim_text_is_delivered_as_interim_and_is_not_the_answer() -> None:
    model = ScriptedModel(
        Reply(deltas=("I will add.",), calls=(tool_call("add", a=1, b=1),)), "2"
    )

    events = list(Agent(model, tools=[add]).stream("go"))

    boundary = kinds(events).index("RoundFinished")
    assert TextDelta(text="I will add.") in events[:boundary]
    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "2"


def test_a_thousand_synchronous_rounds_keep_the_stack_flat() -> None:
    rounds = 1_000

    @tool
    def step() -> Observable[str]:
        """Step."""
        return just("ok")

    model = ScriptedModel(*([Reply(calls=(tool_call("step"),))] * rounds), "done")
    agent = Agent(
        model,
        tools=[step],
        advisors=[tool_loop(max_rounds=None, max_calls=None, max_calls_per_tool=None)],
    )

    events: list[ChatEvent] = []
    errors: list[Exception] = []
    agent.stream("go").subscribe(events.append, errors.append)

    assert errors == []
    assert_grammar(events)
    assert len(model.requests) == rounds + 1


def test_the_loop_is_cold_and_a_second_subscription_starts_anew() -> None:
    """Law 2, S001-87."""
    model = ScriptedModel(*three_rounds()._steps, *three_rounds()._steps)
    flow = Agent(model, tools=[add]).call("add")

    first, second = flow.run(), flow.run()

    assert first.usage == second.usage
    assert len(first.transcript) == len(second.transcript) == 7


def test_sync_async_and_generator_tools_run_side_by_side() -> None:
    async def scenario() -> None:
        here = threading.get_ident()
        threads: dict[str, int] = {}

        @tool
        def in_a_thread() -> str:
            """Run."""
            threads["sync"] = threading.get_ident()
            return "sync"

        @tool
        async def on_the_loop() -> str:
            """Run."""
            await asyncio.sleep(0)
            threads["async"] = threading.get_ident()
            return "async"

        @tool
        async def reports() -> AsyncIterator[str]:
            """Run."""
            for text in ("half", "whole"):
                yield text

        calls = tuple(
            tool_call(name) for name in ("in_a_thread", "on_the_loop", "reports")
        )
        model = ScriptedModel(Reply(calls=calls), "done")

        response = await Agent(model, tools=[in_a_thread, on_the_loop, reports]).call(
            "go"
        )

        assert response.text == "done"
        results = [m.text for m in response.transcript if isinstance(m, ToolMessage)]
        assert results[:2] == ["sync", "async"]
        assert "whole" in results[2]
        assert threads["async"] == here
        assert threads["sync"] != here

    asyncio.run(scenario())


def test_leaving_while_an_async_tool_runs_cancels_it() -> None:
    async def scenario() -> None:
        cancelled = asyncio.Event()
        started = asyncio.Event()

        @tool
        async def sleepy() -> str:
            """Sleep."""
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return "never"

        model = ScriptedModel(Reply(calls=(tool_call("sleepy"),)), "never")
        agent = Agent(model, tools=[sleepy])

        async with aclosing(iterate(agent.stream("go"))) as events:
            async for event in events:
                if isinstance(event, ToolStarted):
                    await started.wait()
                    break

        await asyncio.wait_for(cancelled.wait(), 5)
        assert len(model.requests) == 1

    asyncio.run(scenario())


def test_a_long_result_is_cut_for_the_model_and_whole_for_the_observer() -> None:
    @tool
    def dump() -> str:
        """Dump."""
        return "日本語" * 5_000

    model = ScriptedModel(Reply(calls=(tool_call("dump"),)), "done")
    agent = Agent(model, tools=[dump], advisors=[tool_loop(max_result_chars=200)])

    events = list(agent.stream("go"))

    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert len(finished.message.text) <= 200
    assert finished.value == "日本語" * 5_000


def test_it_holds_the_laws() -> None:
    assert_advisor_laws(tool_loop())


def test_an_unknown_event_passes_in_a_round_with_tools() -> None:
    class Unknown:
        pass

    mark: Any = Unknown()

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        return reactivex.concat(just(mark), just(request).pipe(inner))

    advisors: list[Advisor] = [tool_loop(), named("mark", around(handle))]
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=1),)), "done")

    events = list(Agent(model, tools=[add], advisors=advisors).stream("go"))

    assert events.count(mark) == 2


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given, expected = drawn(tool_loop.__doc__)
    assert given is not None
    call = ToolCall(id="1", name="slow", arguments="{}")
    asks = ChatResponse(message=AssistantMessage.of(call), transcript=())
    result = ToolMessage.of("x", call=call)
    says = AssistantMessage.of("b")
    whole = ChatResponse(
        message=says, transcript=(asks.message, result, says), usage=Usage()
    )
    letters: Letters = {
        "R": RoundFinished(response=asks),
        "c": Finished(response=asks),
        "s": ToolStarted(call=call),
        "p": ToolProgress(call=call, value="x"),
        "f": ToolFinished(call=call, message=result, value="x"),
        "b": TextDelta(text="b"),
        "F": Finished(response=whole),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):

        @tool(name="slow")
        def waits() -> Observable[str]:
            """Wait."""
            return cold("---x-|", {"x": "x"}, None)

        request = ChatRequest(messages=(UserMessage.of("go"),), tools=(waits,))
        letters["q"] = request
        answers = ["--b--F|", "--c-|"]

        def inner(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
            def ending(event: ChatEvent) -> ChatEvent:
                if isinstance(event, Finished) and event.response is whole:
                    return Finished(response=ChatResponse(message=says))
                return event

            return requests.pipe(
                ops.concat_map(
                    lambda _: cold(answers.pop(), letters, None).pipe(ops.map(ending))
                )
            )

        got = start(cold(given, letters, None).pipe(tool_loop()(inner)))
        assert comparable(got) == comparable(exp(expected, letters, None))


def test_after_operators_inside_the_loop_have_fresh_state_each_round() -> None:
    """S002-9."""
    model = ScriptedModel(
        Reply(deltas=("a", "b"), calls=(tool_call("add", a=1, b=1),)),
        Reply(deltas=("c", "d")),
    )
    agent = Agent(model, tools=[add], advisors=[tool_loop(), after(ops.skip(1))])

    assert list(agent.stream("go").text()) == ["b", "d"]


def test_a_tool_is_still_a_function() -> None:
    assert isinstance(add, Tool)
    assert add(1, 2) == 3


def test_a_call_that_a_model_says_twice_as_one_object_is_answered_twice() -> None:
    """S004-24: each call of an answer runs once, whoever made the answer."""
    runs: list[int] = []

    @tool
    async def count() -> int:
        """Count."""
        runs.append(1)
        return len(runs)

    call = ToolCall(id="same", name="count")
    model = ScriptedModel(Reply(calls=(call, call)), "end")
    response = Agent(model, tools=[count]).call("go").run()

    results = [each for each in response.transcript if isinstance(each, ToolMessage)]
    assert [each.text for each in results] == ["1", "2"]
    assert [each.role for each in model.requests[1].messages][-2:] == ["tool", "tool"]
