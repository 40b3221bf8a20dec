"""What stands around the loop, inside it, and in the place of one of its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import after, around, before
from rxagent.context import Context, Key
from rxagent.errors import ConfigurationError, ToolError
from rxagent.events import (
    ChatEvent,
    Finished,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolStarted,
)
from rxagent.messages import AssistantMessage, ToolMessage, UserMessage
from rxagent.named import Named, Order, by_order
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import (
    Answer,
    Executor,
    ToolEvent,
    run_batch,
    sequential,
    tool,
    tool_index,
)
from rxagent.types import Exchange
from rxagent.wire import OpenAIChatDialect

RUNS_TOOLS = Key("runs_tools", bool)
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
def ping(text: str) -> Observable[str]:
    """Say it back."""
    ran.append(text)
    return just(text)


def pings(*texts: str) -> Reply:
    return Reply(calls=tuple(tool_call("ping", text=text) for text in texts))


def ended(events: Sequence[ChatEvent]) -> ChatResponse:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


class Backwards:
    """An executor of one's own: the last call first, on the executor that is there."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    @property
    def timeout_s(self) -> float | None:
        return None

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        self.batches.append(len(answers))
        return sequential()(answers[::-1])


def test_the_batch_may_be_run_by_an_executor_of_ones_own() -> None:
    """S000-7, S000-21, S000-26, S004-26: it is called once a round, and only runs."""
    executor = Backwards()
    model = ScriptedModel(pings("a", "b"), pings("c"), "done")
    own: Executor = executor
    agent = Agent(model, tools=[ping], advisors=[tool_loop(executor=own)])

    agent.call("go").run()

    assert ran == ["b", "a", "c"]
    assert executor.batches == [2, 1]
    results = model.requests[1].messages[-2:]
    assert [each.text for each in results] == ["a", "b"], "in the order of the calls"


def test_an_executor_that_loses_a_call_is_an_error_and_no_pause() -> None:
    """Law 8: nobody else would ever run it."""

    class Forgetful:
        timeout_s: float | None = None

        def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
            return sequential()(answers[1:])

    loop = tool_loop(executor=Forgetful())
    agent = Agent(ScriptedModel(pings("a", "b")), tools=[ping], advisors=[loop])

    with pytest.raises(ToolError, match="no result for the call 'call_0_0'"):
        agent.call("go").run()


def test_without_an_eligibility_every_call_runs_until_there_is_none() -> None:
    """S000-19, S003-5, M-68: unknown tools go the way of all failures."""
    model = ScriptedModel(pings("a"), Reply(calls=(tool_call("nope"),)), "done")

    assert Agent(model, tools=[ping]).call("go").run().text == "done"
    assert ran == ["a"]


def test_a_call_may_switch_the_loop_off_and_drive_it_by_hand() -> None:
    """S003-11, S003-12, S000-36: the calls come back, and nothing has run."""

    def runs(_: ChatResponse, context: Context) -> bool:
        return context.get(RUNS_TOOLS, True)

    model = ScriptedModel(pings("a"), "done")
    agent = Agent(model, tools=[ping], advisors=[tool_loop(eligible=runs)])
    response = agent.call("go", context={RUNS_TOOLS.name: False}).run()
    assert ran == []

    batch = run_batch(
        response.tool_calls,
        tool_index([ping]),
        context=response.context,
        origin=model.requests[0].origin,
    )
    done: list[ToolEvent] = []
    batch.subscribe(done.append)
    results = [each.message for each in done if isinstance(each, ToolFinished)]
    history = (*model.requests[0].messages, *response.transcript, *results)
    assert agent.call(history).run().text == "done"
    assert ran == ["a"]


ANSWERS = Key("answers", int)


def test_a_count_of_a_turn_is_kept_in_its_context_and_ends_the_turn() -> None:
    """S001-137, S001-138: `eligible` sees it; no two turns count together."""

    def count(request: ChatRequest) -> ChatRequest:
        answers = request.context.get(ANSWERS, 0) + 1
        return replace(request, context=request.context.set(ANSWERS, answers))

    def few(_: ChatResponse, context: Context) -> bool:
        return context[ANSWERS.name] != 3

    slow = replace(pings("a"), first_s=10.0)
    agent = Agent(
        ScriptedModel(slow, repeat_last=True),
        tools=[ping],
        advisors=[tool_loop(eligible=few, max_rounds=None), before(count)],
    )
    time = TestScheduler()
    turns: list[ChatResponse] = []
    for start in (0.0, 5.0, 100.0):  # two at once, and one behind the other
        turn = reactivex.timer(start).pipe(ops.flat_map(agent.call("go")))
        turn.subscribe(turns.append, scheduler=time)
    time.start()

    assert [turn.context[ANSWERS] for turn in turns] == [3, 3, 3]
    assert ran == ["a", "a"] * 3


def test_the_loop_has_its_place_inside_a_memorys() -> None:
    """S001-58: by number too, for lists that come from several sources."""
    loop = tool_loop()
    assert isinstance(loop, Named)

    assert Order.FIRST < Order.MEMORY < loop.order < Order.IN_LOOP
    inner = after(lambda source: source)
    assert by_order([inner, loop]) == [loop, inner]


def test_five_rounds_ask_the_rest_anew_each_time() -> None:
    """S001-59, S001-64, S001-70, V-10: a round's hooks see it once, on both ways."""
    seen: list[str] = []

    def turn(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        seen.append("turn")
        return just(request).pipe(inner, ops.do_action(note))

    def note(event: ChatEvent) -> None:
        if isinstance(event, Finished):
            seen.append("end")

    def call(request: ChatRequest) -> ChatRequest:
        seen.append(f"call {len(request.messages)}")
        return request

    def answer(event: ChatEvent) -> None:
        if isinstance(event, Finished):
            seen.append("answer")

    model = ScriptedModel(*[pings(str(n)) for n in range(5)], "done")
    advisors = [around(turn), tool_loop(), before(call), after(ops.do_action(answer))]
    agent = Agent(model, tools=[ping], advisors=advisors)

    list(agent.stream("go"))

    rounds = [each for n in range(6) for each in (f"call {1 + 2 * n}", "answer")]
    assert seen == ["turn", *rounds, "end"]


def test_an_inner_advisor_sees_the_pieces_of_calls_and_a_broken_one_is_named() -> None:
    """S003-14, S003-17: a side channel guards itself; what it raises is an error."""
    pieces: list[ChatEvent] = []
    model = ScriptedModel(Reply(deltas=("hm",), calls=pings("a").calls), "done")
    inner = after(ops.do_action(pieces.append))
    Agent(model, tools=[ping], advisors=[tool_loop(), inner]).call("go").run()

    assert any(isinstance(each, ToolCallDelta) for each in pieces)
    assert [each.text for each in pieces if isinstance(each, TextDelta)] == [
        "hm",
        "done",
    ]


def test_text_beside_a_call_is_delivered_as_interim_text() -> None:
    """V-9, S003-16: nothing is dropped; the boundary says what was interim."""
    model = ScriptedModel(Reply(deltas=("let me",), calls=pings("a").calls), "done")
    events = list(Agent(model, tools=[ping]).stream("go"))

    kinds = [type(each) for each in events]
    assert kinds.index(TextDelta) < kinds.index(RoundFinished)
    assert ended(events).text == "done"


def test_a_tool_runs_once_for_each_call_and_an_empty_answer_ends_the_turn() -> None:
    """S004-24, S004-25."""
    model = ScriptedModel(pings("a"), Reply())
    events = list(Agent(model, tools=[ping]).stream("go"))

    started = [each.call.id for each in events if isinstance(each, ToolStarted)]
    assert started == ["call_0_0"]
    assert ended(events).text == ""
    assert ended(events).message == AssistantMessage(content=())


def test_an_advisor_in_the_loop_sees_the_results_of_the_round_before() -> None:
    """M-1."""
    seen: list[str] = []

    def look(request: ChatRequest) -> ChatRequest:
        last = request.messages[-1]
        seen.append(last.text if isinstance(last, ToolMessage) else "")
        return request

    model = ScriptedModel(pings("a"), pings("b"), "done")
    Agent(model, tools=[ping], advisors=[tool_loop(), before(look)]).call("go").run()

    assert seen == ["", "a", "b"]


def test_an_advisor_that_asks_again_gets_a_budget_of_its_own() -> None:
    """M-2, M-7, V-4: inside the loop a repeated answer is one round, outside a turn."""

    def twice(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        asked = just(request).pipe(inner)
        first = asked.pipe(ops.filter(lambda each: not isinstance(each, Finished)))
        return just(first, asked).pipe(concat_each(lambda each: each))

    model = ScriptedModel(pings("a"), "one", pings("b"), "two")
    outside = [around(twice), tool_loop(max_calls=1)]
    response = Agent(model, tools=[ping], advisors=outside).call("go").run()
    assert (response.text, ran) == ("two", ["a", "b"])

    ran.clear()
    model = ScriptedModel(pings("a"), pings("b"), "three", "four")
    inside = [tool_loop(max_rounds=2), around(twice)]
    response = Agent(model, tools=[ping], advisors=inside).call("go").run()
    assert (response.text, ran) == ("four", ["b"])


def test_a_chain_is_folded_when_built_and_a_list_changed_later_is_not_it() -> None:
    """M-8: who changes advisors builds another agent; the old one stays as it was."""
    seen: list[str] = []

    def note(request: ChatRequest) -> ChatRequest:
        seen.append("noted")
        return request

    advisors = [tool_loop()]
    agent = Agent(ScriptedModel("x"), tools=[ping], advisors=advisors)
    advisors.append(before(note))
    agent.call("go").run()

    assert seen == []
    assert "note" not in agent.describe()


def test_what_travels_in_the_context_never_reaches_the_wire() -> None:
    """M-11, D-7."""
    request = ChatRequest(
        messages=(UserMessage.of("hi"),), context=Context({"secret": "tk-1"})
    )
    body = OpenAIChatDialect().encode(request, model="m", stream=True)

    assert b"tk-1" not in body


def test_tools_without_a_loop_get_one_and_two_loops_are_refused() -> None:
    """S001-60, S001-61, S003-11, S000-38: tools that are given always run."""
    model = ScriptedModel(pings("a"), "done")
    assert "tool_loop" in Agent(model, tools=[ping]).describe()

    with pytest.raises(ConfigurationError, match="2 advisors run tools"):
        Agent(model, tools=[ping], advisors=[tool_loop(), tool_loop()])


def test_an_advisor_that_answers_before_the_loop_runs_no_tool() -> None:
    """M-9: around is the base form, and may answer by itself."""

    def answer(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        del inner
        response = ChatResponse(message=AssistantMessage.of("no"), finish_reason="stop")
        return just(Finished(response=replace(response), origin=request.origin))

    model = ScriptedModel(pings("a"))
    agent = Agent(model, tools=[ping], advisors=[around(answer)])

    assert agent.call("go").run().text == "no"
    assert len(model.requests) == 0
