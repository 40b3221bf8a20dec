"""Calls that somebody has to approve: live, or by pausing the turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import reactivex
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.context import Context
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import AdvisorError
from rxagent.events import (
    ApprovalRequested,
    ChatEvent,
    Finished,
    ToolFinished,
    ToolStarted,
)
from rxagent.messages import AssistantMessage, Image, ToolCall, ToolMessage
from rxagent.operators import just
from rxagent.testing import Reply as Said
from rxagent.testing import ScriptedModel, assert_grammar, tool_call
from rxagent.tools import tool
from tests.marbles import emitted

on_completed = ReactiveTest.on_completed
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(needs_approval=True)
def pay(amount: int) -> Observable[str]:
    """Pay."""
    ran.append(f"pay {amount}")
    return just(f"paid {amount}")


@tool
def look(what: str) -> Observable[str]:
    """Look something up."""
    ran.append(f"look {what}")
    return just(f"saw {what}")


BOTH = Said(calls=(tool_call("pay", amount=5), tool_call("look", what="x")))


def deciding(decision: Decision) -> Callable[[ApprovalRequested], Observable[Decision]]:
    return lambda _: just(decision)


def told(model: ScriptedModel) -> list[tuple[str, bool]]:
    """The results that the model saw last."""
    messages = model.requests[-1].messages
    results = [each for each in messages if isinstance(each, ToolMessage)]
    return [(each.text, each.is_error) for each in results]


@pytest.mark.parametrize(
    ("decision", "results", "what_ran"),
    [
        (Approve(), [("paid 5", False), ("saw x", False)], ["pay 5", "look x"]),
        (
            Approve(arguments={"amount": 3}),
            [("paid 3", False), ("saw x", False)],
            ["pay 3", "look x"],
        ),
        (
            Approve(arguments={"amount": "much"}),
            [("", True), ("saw x", False)],
            ["look x"],
        ),
        (Reject(), [("the call was declined", True), ("saw x", False)], ["look x"]),
        (
            Reject(reason="too dear"),
            [("the call was declined: too dear", True), ("saw x", False)],
            ["look x"],
        ),
        (Reply("I paid it"), [("I paid it", False), ("saw x", False)], ["look x"]),
    ],
)
def test_a_call_runs_as_it_was_decided(
    decision: Decision, results: list[tuple[str, bool]], what_ran: list[str]
) -> None:
    """M-15, M-36."""
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=deciding(decision))
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    events = list(agent.stream("go"))

    assert_grammar(events)
    assert ran == what_ran
    seen = [
        (text if not is_error or "declined" in text else "", is_error)
        for text, is_error in told(model)
    ]
    assert seen == results
    call = model.requests[1].messages[1]
    assert isinstance(call, AssistantMessage)
    assert call.tool_calls[0].arguments == '{"amount": 5}', "history has what was said"


def test_approvals_are_asked_one_after_the_other_before_anything_runs() -> None:
    """M-16: serially, once a call, never inside the batch."""
    asked: list[str] = []
    answers: list[Subject[Decision]] = []

    def approve(request: ApprovalRequested) -> Observable[Decision]:
        asked.append(request.call.arguments)
        answers.append(Subject())
        return answers[-1]

    calls = (tool_call("pay", amount=1), BOTH.calls[1], tool_call("pay", amount=2))
    model = ScriptedModel(Said(calls=calls), "done")
    agent = Agent(model, tools=[pay, look], advisors=[tool_loop(approve=approve)])
    events: list[ChatEvent] = []
    agent.stream("go").subscribe(events.append)

    assert asked == ['{"amount": 1}']
    assert ran == []
    answers[0].on_next(Approve())
    assert asked == ['{"amount": 1}', '{"amount": 2}']
    assert ran == []
    answers[1].on_next(Reject(reason="no"))
    answers[1].on_next(Approve())

    assert ran == ["pay 1", "look x"]
    assert [type(each).__name__ for each in events[4:]] == [
        "ApprovalRequested",
        "ApprovalRequested",
        "ToolFinished",
        "ToolStarted",
        "ToolProgress",
        "ToolFinished",
        "ToolStarted",
        "ToolProgress",
        "ToolFinished",
        "TextDelta",
        "Finished",
    ]
    assert [text for text, _ in told(model)] == [
        "paid 1",
        "saw x",
        "the call was declined: no",
    ]


def test_nobody_decides_in_time_and_the_call_is_declined() -> None:
    """Virtual time; the clock of an approval is no tool's clock (M-29)."""
    scheduler = TestScheduler()
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=lambda _: reactivex.never(), approval_timeout_s=60)
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    got = scheduler.start(lambda: agent.stream("go"))

    assert got.messages[-1] == on_completed(260)
    assert told(model)[0] == (
        "the call was declined: nobody has decided in time",
        True,
    )
    assert ran == ["look x"]


def test_a_decision_in_time_stops_its_clock() -> None:
    scheduler = TestScheduler()
    model = ScriptedModel(BOTH, "done")

    def approve(_: ApprovalRequested) -> Observable[Decision]:
        return reactivex.timer(59.0).pipe(ops.map(lambda _: Approve()))

    loop = tool_loop(approve=approve, approval_timeout_s=60)
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    got = scheduler.start(lambda: agent.stream("go"))

    assert got.messages[-1] == on_completed(259)
    assert ran == ["pay 5", "look x"]


def test_nobody_decides_in_time_and_the_turn_pauses() -> None:
    scheduler = TestScheduler()
    model = ScriptedModel(BOTH)
    loop = tool_loop(
        approve=lambda _: reactivex.never(),
        approval_timeout_s=60,
        on_approval_timeout="pause",
    )
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    got = scheduler.start(lambda: agent.stream("go"))
    _, last = emitted(got.messages)[-1]

    assert isinstance(last, Finished)
    assert last.response.finish_reason == "paused"
    assert ran == []


def test_an_approver_that_ends_without_a_word_declines() -> None:
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=lambda _: reactivex.empty())
    Agent(model, tools=[pay, look], advisors=[loop]).call("go").run()

    assert told(model)[0] == ("the call was declined: nobody has decided", True)


def test_an_approver_that_fails_fails_the_stream_and_nothing_runs() -> None:
    """Law 8."""
    broken = OSError("the pager is down")
    loop = tool_loop(approve=lambda _: reactivex.throw(broken))
    agent = Agent(ScriptedModel(BOTH), tools=[pay, look], advisors=[loop])

    with pytest.raises(OSError, match="the pager is down"):
        agent.call("go").run()
    assert ran == []


def test_an_approver_that_says_something_else_is_named() -> None:
    approve = cast("Any", lambda _: just(True))
    agent = Agent(
        ScriptedModel(BOTH), tools=[pay, look], advisors=[tool_loop(approve=approve)]
    )

    with pytest.raises(AdvisorError, match="was told True by approve, where Approve"):
        agent.call("go").run()


def test_leaving_while_somebody_decides_runs_nothing_and_asks_nobody_else() -> None:
    """Law 5."""
    scheduler = TestScheduler()
    waiting: Any = scheduler.create_hot_observable()
    calls = (tool_call("pay", amount=1), tool_call("pay", amount=2))
    model = ScriptedModel(Said(calls=calls), "done")
    loop = tool_loop(approve=lambda _: waiting, approval_timeout_s=500)
    agent = Agent(model, tools=[pay], advisors=[loop])

    scheduler.start(lambda: agent.stream("go"), disposed=300)
    scheduler.start(lambda: reactivex.never(), disposed=2_000)

    assert [each.unsubscribe for each in waiting.subscriptions] == [300]
    assert ran == []


def test_what_needs_approval_may_depend_on_the_call_and_the_context() -> None:
    def risky(call: ToolCall, context: Context) -> bool:
        return "x" in call.arguments and context["role"] == "guest"

    def run(role: str) -> list[str]:
        model = ScriptedModel(BOTH, "done")
        loop = tool_loop(needs_approval=risky, approve=deciding(Reject()))
        free = tool(pay.function, name="pay")
        agent = Agent(model, tools=[free, look], advisors=[loop])
        ran.clear()
        agent.call("go", context={"role": role}).run()
        return list(ran)

    assert run("guest") == ["pay 5"]
    assert run("admin") == ["pay 5", "look x"]


def test_a_declaration_may_be_a_predicate_too() -> None:
    """M-54: the same for decorated tools and those of a schema."""

    def dear(call: ToolCall, _: Context) -> bool:
        return "9" in call.arguments

    decorated = tool(needs_approval=dear)(pay.function)
    model = ScriptedModel(
        Said(calls=(tool_call("pay", amount=1), tool_call("pay", amount=9))), "done"
    )
    loop = tool_loop(approve=deciding(Reject()))
    Agent(model, tools=[decorated], advisors=[loop]).call("go").run()

    assert ran == ["pay 1"]


def test_a_reply_may_hold_a_picture() -> None:
    picture = Image(data=b"png")
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=deciding(Reply(("see", picture))))
    Agent(model, tools=[pay, look], advisors=[loop]).call("go").run()

    result = model.requests[1].messages[2]
    assert isinstance(result, ToolMessage)
    assert result.content[1] == picture


def test_a_long_reply_is_cut_for_the_model_as_every_result_is() -> None:
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=deciding(Reply("x" * 1_000)), max_result_chars=200)
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    events = list(agent.stream("go"))

    done = next(each for each in events if isinstance(each, ToolFinished))
    assert done.value == "x" * 1_000
    text, is_error = told(model)[0]
    assert len(text) <= 200
    assert not is_error


def test_events_of_an_edited_call_carry_what_really_ran() -> None:
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=deciding(Approve(arguments={"amount": 3})))
    agent = Agent(model, tools=[pay, look], advisors=[loop])

    events = list(agent.stream("go"))

    started = [each.call for each in events if isinstance(each, ToolStarted)]
    done = [each.call for each in events if isinstance(each, ToolFinished)]
    assert started[0].arguments == '{"amount":3}'
    assert started == done
    assert started[0].id == done[0].id == "call_0_0"


def test_a_limit_comes_before_an_approval() -> None:
    asked: list[object] = []

    def approve(request: ApprovalRequested) -> Observable[Decision]:
        asked.append(request)
        return just(Approve())

    loop = tool_loop(approve=approve, max_calls_per_tool={"pay": 1}, on_limit="tell")
    calls = (tool_call("pay", amount=1), tool_call("pay", amount=2))
    model = ScriptedModel(Said(calls=calls), "done")
    Agent(model, tools=[pay], advisors=[loop]).call("go").run()

    assert ran == ["pay 1"]
    assert len(asked) == 1


def test_two_calls_with_one_id_are_decided_each_by_itself() -> None:
    """The one that was rejected does not run because the other one was approved."""
    calls = (
        ToolCall(id="i", name="pay", arguments='{"amount": 666}'),
        ToolCall(id="i", name="pay", arguments='{"amount": 2}'),
    )

    def approve(request: ApprovalRequested) -> Observable[Decision]:
        return just(Reject() if "666" in request.call.arguments else Approve())

    model = ScriptedModel(Said(calls=calls), "done")
    Agent(model, tools=[pay], advisors=[tool_loop(approve=approve)]).call("go").run()

    assert ran == ["pay 2"]


@pytest.mark.parametrize("arguments", ['{"amount":', "[1]"])
def test_nobody_is_asked_about_a_call_that_cannot_run(arguments: str) -> None:
    asked: list[object] = []

    def approve(request: ApprovalRequested) -> Observable[Decision]:
        asked.append(request)
        return just(Approve())

    call = ToolCall(id="", name="pay", arguments=arguments)
    unknown = ToolCall(id="", name="nope", arguments="{}")
    model = ScriptedModel(Said(calls=(call, unknown)), "done")
    loop = tool_loop(approve=approve, needs_approval=True)
    Agent(model, tools=[pay], advisors=[loop]).call("go").run()

    assert asked == []
    assert all(is_error for _, is_error in told(model))


@pytest.mark.parametrize("content", ["a\ud83d", ("a\ud83d", "b"), ("b",)])
def test_a_reply_is_fit_for_every_wire(content: Any) -> None:
    model = ScriptedModel(BOTH, "done")
    loop = tool_loop(approve=deciding(Reply(content)))
    response = Agent(model, tools=[pay, look], advisors=[loop]).call("go").run()

    told = response.transcript[1].text
    assert told.encode().decode() == "".join(content).replace("\ud83d", "\ufffd")
