"""What was decided before a turn pauses is kept, and nobody is asked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable, Subject
from reactivex.testing import TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import RequestError, SnapshotError, ToolFailedError
from rxagent.events import ApprovalRequested, ChatEvent, Finished
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.messages import AssistantMessage, Image, ToolCall
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.responses import ChatResponse
from rxagent.snapshots import Snapshot
from rxagent.testing import Reply as Said
from rxagent.testing import ScriptedModel, tool_call
from rxagent.tools import tool
from tests.marbles import emitted

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(needs_approval=True)
def pay(amount: int) -> Observable[str]:
    """Pay."""
    ran.append(f"pay {amount}")
    return just(f"paid {amount}")


THREE = Said(calls=tuple(tool_call("pay", amount=n) for n in (1, 2, 3)))
BROWSE = ToolSpec(name="browse", description="Done by the app.", parameters={})


def ended(events: list[ChatEvent]) -> ChatResponse:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


def saved(response: ChatResponse) -> Snapshot:
    """The snapshot of a paused turn, through JSON."""
    assert response.finish_reason == "paused"
    assert response.snapshot is not None
    loaded = load_snapshot(dump_snapshot(response.snapshot))
    assert loaded == response.snapshot
    return loaded


def paused_at_the_last(first: Decision, second: Decision) -> tuple[Agent, Snapshot]:
    """A turn of three calls; about the third nobody has decided in time."""
    answers = iter([just(first), just(second)])

    def approve(_: ApprovalRequested) -> Observable[Decision]:
        return next(answers, reactivex.never())

    loop = tool_loop(
        approve=approve, approval_timeout_s=60, on_approval_timeout="pause"
    )
    agent = Agent(ScriptedModel(THREE, "done"), tools=[pay], advisors=[loop])
    got = TestScheduler().start(lambda: agent.stream("go"))
    assert ran == []
    return agent, saved(ended([event for _, event in emitted(got.messages)]))


def results(response: ChatResponse) -> list[str]:
    return [each.text for each in response.transcript if each.role == "tool"]


def test_what_was_decided_live_is_carried_out_after_the_pause_without_asking() -> None:
    """M-16, M-36, M-38: edited arguments too; only the undecided call waits."""
    agent, snapshot = paused_at_the_last(
        Approve(arguments={"amount": 50}), Reject(reason="no")
    )

    assert snapshot.pending == ("call_0_2",)
    assert snapshot.decided == {
        "call_0_0": Approve(arguments={"amount": 50}),
        "call_0_1": Reject(reason="no"),
    }
    events = list(agent.resume(snapshot, {"call_0_2": Approve()}))

    assert not any(isinstance(each, ApprovalRequested) for each in events)
    assert ran == ["pay 50", "pay 3"]
    assert results(ended(events)) == ["paid 50", "the call was declined: no", "paid 3"]


@pytest.mark.parametrize(
    ("now", "result"),
    [
        (Approve(), "paid 1"),
        (Approve(arguments={"amount": 7}), "paid 7"),
        (Reject(reason="late"), "the call was declined: late"),
        (Reply("by hand"), "by hand"),
    ],
)
def test_a_decision_of_the_resume_wins_over_one_before_the_pause(
    now: Decision, result: str
) -> None:
    agent, snapshot = paused_at_the_last(Approve(arguments={"amount": 50}), Approve())
    decisions = {"call_0_0": now, "call_0_2": Reject()}

    response = ended(list(agent.resume(snapshot, decisions)))

    assert results(response) == [result, "paid 2", "the call was declined"]


def test_a_call_that_was_decided_takes_every_decision_and_nothing_else() -> None:
    agent, snapshot = paused_at_the_last(Approve(), Approve())
    wrong = {"call_0_0": cast("Decision", True), "call_0_2": Approve()}

    with pytest.raises(RequestError, match="bool makes no sense for the call"):
        agent.resume(snapshot, wrong).run()
    assert ran == []


def test_a_reply_with_a_picture_is_kept_too() -> None:
    picture = Image(data=b"png")
    agent, snapshot = paused_at_the_last(Reply(("see", picture)), Reply("done"))

    response = ended(list(agent.resume(snapshot, {"call_0_2": Reject()})))

    assert results(response) == ["see", "done", "the call was declined"]
    first = next(each for each in response.transcript if each.role == "tool")
    assert first.content[1] == picture
    assert ran == []


def test_a_snapshot_without_kept_decisions_can_still_be_read() -> None:
    """It is an optional member: the format has the same version."""
    _, snapshot = paused_at_the_last(Approve(), Approve())
    plain: dict[str, object] = json.loads(dump_snapshot(snapshot))
    del plain["decided"]

    assert load_snapshot(json.dumps(plain)).decided == {}
    assert plain["version"] == 1


@given(
    arguments=st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=2),
            max_leaves=4,
        ),
        max_size=3,
    ),
    word=st.text(max_size=5),
)
def test_kept_decisions_survive_json(
    arguments: Mapping[str, object], word: str
) -> None:
    """M-38."""
    kept: Mapping[str, Decision] = {
        "a": Approve(),
        "b": Approve(arguments=arguments),
        "c": Reject(),
        "d": Reject(reason=word),
        "e": Reply(word),
        "f": Reply((word, Image(data=b"\xff"))),
    }
    message = AssistantMessage.of(*(ToolCall(id=each, name="f") for each in kept))
    snapshot = Snapshot(
        reason="approval", pending=(), messages=(), message=message, decided=kept
    )

    assert load_snapshot(dump_snapshot(snapshot)).decided == kept


def test_a_call_that_runs_again_has_the_arguments_that_were_approved() -> None:
    """M-37: not those of the model, which somebody has changed for a reason."""
    healthy = [False]

    @tool(needs_approval=True)
    def wire(amount: int) -> Observable[str]:
        """Wire money."""
        ran.append(f"wire {amount}")
        if not healthy[0]:
            raise ToolFailedError("the bank is closed", kind="environment")
        return just(f"wired {amount}")

    def approve(_: ApprovalRequested) -> Observable[Decision]:
        return just(Approve(arguments={"amount": 1}))

    model = ScriptedModel(Said(calls=(tool_call("wire", amount=999),)), "done")
    agent = Agent(model, tools=[wire], advisors=[tool_loop(approve=approve)])
    first = saved(agent.call("go").run())
    assert first.decided == {"call_0_0": Approve(arguments={"amount": 1})}

    again = saved(ended(list(agent.resume(first, {"call_0_0": Approve()}))))
    healthy[0] = True
    response = ended(list(agent.resume(again, {"call_0_0": Approve()})))

    assert ran == ["wire 1"] * 3
    assert results(response) == ["wired 1"]


def test_whoever_runs_a_call_elsewhere_finds_the_arguments_that_were_approved() -> None:
    def approve(_: ApprovalRequested) -> Observable[Decision]:
        return just(Approve(arguments={"url": "https://safe.example"}))

    loop = tool_loop(approve=approve, needs_approval=True)
    model = ScriptedModel(Said(calls=(tool_call("browse", url="file:///"),)), "done")
    agent = Agent(model, tools=[BROWSE], advisors=[loop])
    snapshot = saved(agent.call("go").run())

    assert (snapshot.reason, snapshot.pending) == ("client", ("call_0_0",))
    assert snapshot.decided == {
        "call_0_0": Approve(arguments={"url": "https://safe.example"})
    }
    with pytest.raises(RequestError, match="no decision about call_0_0"):
        agent.resume(snapshot).run()
    response = ended(list(agent.resume(snapshot, {"call_0_0": Reply("a page")})))
    assert results(response) == ["a page"]


def test_a_decision_about_what_somebody_else_runs_outlives_two_pauses() -> None:
    healthy = [False]

    @tool
    def disk() -> Observable[str]:
        """Write to the disk."""
        if not healthy[0]:
            raise ToolFailedError("the disk is full", kind="environment")
        return just("written")

    edited = Approve(arguments={"url": "https://safe.example"})

    def approve(asked: ApprovalRequested) -> Observable[Decision]:
        return just(edited if asked.call.name == "browse" else Approve())

    loop = tool_loop(approve=approve, needs_approval=True)
    calls = (tool_call("browse", url="file:///"), tool_call("disk"))
    agent = Agent(
        ScriptedModel(Said(calls=calls), "done"),
        tools=[BROWSE, disk],
        advisors=[loop],
    )
    first = saved(agent.call("go").run())
    assert (first.reason, first.pending) == ("environment", ("call_0_1",))
    healthy[0] = True
    second = saved(ended(list(agent.resume(first, {"call_0_1": Approve()}))))

    assert (second.reason, second.pending) == ("client", ("call_0_0",))
    assert second.decided == {"call_0_0": edited}


def test_calls_that_share_an_id_cannot_wait_since_nobody_could_tell_them_apart() -> (
    None
):
    """The wrong one could run, or run twice."""
    calls = tuple(ToolCall(id="i", name="pay", arguments="{}") for _ in range(2))
    agent = Agent(ScriptedModel(Said(calls=calls)), tools=[pay])

    with pytest.raises(SnapshotError, match="several of its calls have the id 'i'"):
        agent.call("go").run()


@pytest.mark.parametrize(
    "decision",
    [
        Approve(arguments={"amount": float("nan")}),
        Reply(cast("Any", 5)),
        Reply(cast("Any", ("a", 5))),
    ],
)
def test_a_live_decision_that_cannot_be_used_says_so_at_once(
    decision: Decision,
) -> None:
    """Law 8: not when the call would run, or the turn would be saved."""
    loop = tool_loop(approve=lambda _: just(decision))
    agent = Agent(ScriptedModel(THREE), tools=[pay], advisors=[loop])

    with pytest.raises(RequestError, match=r"call 'call_0_0' cannot be used"):
        agent.call("go").run()


def test_the_first_of_two_decisions_counts_even_from_within_the_first() -> None:
    """A button that is pressed twice."""
    button: Subject[Decision] = Subject()
    loop = tool_loop(approve=lambda _: button)
    one = Said(calls=(tool_call("pay", amount=1),))
    agent = Agent(ScriptedModel(one, "done"), tools=[pay], advisors=[loop])
    got: list[ChatEvent] = []
    agent.stream("go").subscribe(got.append)
    button.on_next(Reject(reason="no"))
    button.on_next(Approve())

    assert ran == []
    assert results(ended(got)) == ["the call was declined: no"]


def test_a_call_that_a_limit_has_refused_stays_refused_over_a_pause() -> None:
    """It is neither forgotten, nor does it run because another one is approved."""
    loop = tool_loop(max_calls_per_tool={"pay": 1}, on_limit="tell")
    agent = Agent(ScriptedModel(THREE, "done"), tools=[pay], advisors=[loop])
    snapshot = saved(agent.call("go").run())

    assert snapshot.pending == ("call_0_0",)
    assert [each.tool_call_id for each in snapshot.results] == ["call_0_1", "call_0_2"]
    response = ended(list(agent.resume(snapshot, {"call_0_0": Approve()})))
    assert ran == ["pay 1"]
    assert [text.split(":")[0] for text in results(response)] == [
        "paid 1",
        "the call did not run",
        "the call did not run",
    ]


def test_what_nobody_has_decided_runs_only_if_it_needs_no_approval_now() -> None:
    """Whoever resumes may be stricter than whoever paused."""
    free = tool(pay.function, name="pay")
    calls = (tool_call("browse"), tool_call("pay", amount=1))
    before = Agent(
        ScriptedModel(Said(calls=calls)),
        tools=[BROWSE, free],
        advisors=[tool_loop(needs_approval=lambda call, _: call.name == "browse")],
    )
    snapshot = saved(before.call("go").run())
    assert snapshot.pending == ("call_0_0",)
    strict = Agent(ScriptedModel("done"), tools=[BROWSE, pay])

    again = saved(ended(list(strict.resume(snapshot, {"call_0_0": Reply("page")}))))

    assert (again.reason, again.pending) == ("approval", ("call_0_1",))
    assert again.decided == {"call_0_0": Reply("page")}
    assert ran == []
    last = ended(list(strict.resume(again, {"call_0_1": Approve()})))
    assert results(last) == ["page", "paid 1"]
