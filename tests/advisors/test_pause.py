"""Turns that pause, are saved, and go on: here, or in another process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import after, around, before
from rxagent.context import Key
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import (
    ConfigurationError,
    RequestError,
    SnapshotError,
    ToolFailedError,
)
from rxagent.events import ChatEvent, Finished, ToolStarted
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.messages import (
    AssistantMessage,
    Image,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.operators import concat_each, just
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.snapshots import Snapshot, claims_in_folder
from rxagent.testing import Reply as Said
from rxagent.testing import ScriptedModel, assert_grammar, tool_call
from rxagent.tools import ToolContext, tool
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage

ran: list[str] = []
TOTAL = Key("total", int, reduce=lambda old, new: old + new)


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(needs_approval=True)
def pay(amount: int) -> Observable[str]:
    """Pay."""
    ran.append(f"pay {amount}")
    return just(f"paid {amount}")


@tool
def count(me: ToolContext) -> Observable[str]:
    """Count up."""
    me.set(TOTAL, 1)
    ran.append("count")
    return just("counted")


PAY = Said(
    calls=(tool_call("pay", amount=5),), usage=Usage(output_tokens=2, requests=1)
)
COUNT = Said(calls=(tool_call("count"),), usage=Usage(output_tokens=3, requests=1))
BROWSE = ToolSpec(name="browse", description="Done by the app.", parameters={})


def paused(response: ChatResponse) -> Snapshot:
    assert response.finish_reason == "paused"
    assert response.snapshot is not None
    return response.snapshot


def ended(events: list[ChatEvent]) -> ChatResponse:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


def test_a_call_that_nobody_can_approve_pauses_the_turn_before_anything_runs() -> None:
    """M-35, M-38."""
    model = ScriptedModel(COUNT, Said(calls=(*PAY.calls, *COUNT.calls)))
    agent = Agent(model, tools=[pay, count])

    events = list(agent.stream("go"))
    assert_grammar(events)
    response = ended(events)
    snapshot = paused(response)

    assert ran == ["count"]
    assert (snapshot.reason, snapshot.pending) == ("approval", ("call_1_0",))
    assert snapshot.results == ()
    assert snapshot.state == {"total": 1}
    assert snapshot.called == {"pay": 1, "count": 2}
    assert [call.name for call in response.tool_calls] == ["pay", "count"]
    assert load_snapshot(dump_snapshot(snapshot)) == snapshot


@pytest.mark.parametrize(
    ("decision", "result", "what_ran"),
    [
        (Approve(), "paid 5", ["pay 5"]),
        (Approve(arguments={"amount": 2}), "paid 2", ["pay 2"]),
        (Reject(reason="no"), "the call was declined: no", []),
        (Reply("done by hand"), "done by hand", []),
    ],
)
def test_a_resumed_turn_goes_on_as_it_was_decided(
    decision: Decision, result: str, what_ran: list[str]
) -> None:
    """M-36, M-40, S001-69: usage and transcript are those of the whole turn."""
    model = ScriptedModel(COUNT, PAY, "done")
    agent = Agent(model, tools=[pay, count], system="Be brief.")
    snapshot = paused(agent.call("go").run())
    ran.clear()

    loaded = load_snapshot(dump_snapshot(snapshot))
    events = list(agent.resume(loaded, {"call_1_0": decision}))

    assert_grammar(events)
    response = ended(events)
    assert (response.text, response.finish_reason) == ("done", "stop")
    assert ran == what_ran
    assert response.context[TOTAL] == 1
    assert response.usage.output_tokens == 5
    assert [type(each).__name__ for each in response.transcript] == [
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    last = model.requests[-1].messages
    assert [each.role for each in last] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert last[-1].text == result
    assert model.requests[-1].origin.round == 2


def test_a_second_resume_is_refused_and_runs_nothing() -> None:
    """Exactly once; in this process by default."""
    agent = Agent(ScriptedModel(PAY, "done"), tools=[pay])
    snapshot = paused(agent.call("go").run())
    agent.resume(snapshot, {"call_0_0": Approve()}).pipe().run()

    with pytest.raises(SnapshotError, match="has been resumed already"):
        agent.resume(snapshot, {"call_0_0": Approve()}).run()
    assert ran == ["pay 5"]


def test_building_a_resume_claims_nothing() -> None:
    """Law 2: cold; M-6: who answers in its place leaves the pause unconsumed."""
    model = ScriptedModel(PAY, "done")
    agent = Agent(model, tools=[pay])
    snapshot = paused(agent.call("go").run())
    decisions = {"call_0_0": Approve()}
    agent.resume(snapshot, decisions)

    def block(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        del inner
        return just(request).pipe(ScriptedModel("not now"))

    blocked = agent.resume(snapshot, decisions, advisors=[around(block)])
    assert [type(e).__name__ for e in blocked] == ["TextDelta", "Finished"]

    assert ended(list(agent.resume(snapshot, decisions))).text == "done"


def test_a_resume_goes_through_the_turns_advisors_once() -> None:
    """M-4."""
    seen: list[int] = []

    def watch(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        seen.append(len(request.messages))
        return just(request).pipe(inner)

    model = ScriptedModel(PAY, COUNT, "done")
    agent = Agent(model, tools=[pay, count], advisors=[around(watch)])
    snapshot = paused(agent.call("go").run())
    list(agent.resume(snapshot, {"call_0_0": Approve()}))

    assert seen == [1, 1]


def test_an_advisor_that_asks_again_after_a_resume_asks_anew() -> None:
    """M-4, M-5: pause, resume, bad answer, feedback, good answer: three model calls."""
    model = ScriptedModel(PAY, "bad", "good")

    def insist(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def judge(event: ChatEvent) -> Observable[ChatEvent]:
            if isinstance(event, Finished) and event.response.text == "bad":
                context = event.response.context
                assert "rxagent.resume" not in context
                return just(replace(request, context=context)).pipe(inner)
            return just(event)

        return just(request).pipe(inner, concat_each(judge))

    agent = Agent(model, tools=[pay], advisors=[around(insist)])
    snapshot = paused(agent.call("go").run())
    events = list(agent.resume(snapshot, {"call_0_0": Approve()}))

    assert ended(events).text == "good"
    assert len(model.requests) == 3
    assert ran == ["pay 5"]


def test_an_advisor_may_ask_again_with_the_request_that_it_got() -> None:
    """M-4: whoever writes an advisor need not know of pauses; others stay refused."""
    model = ScriptedModel(PAY, "bad", "good")

    def insist(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def judge(event: ChatEvent) -> Observable[ChatEvent]:
            if isinstance(event, Finished) and event.response.text == "bad":
                feedback = (*request.messages, UserMessage.of("better"))
                return just(replace(request, messages=feedback)).pipe(inner)
            return just(event)

        return just(request).pipe(inner, concat_each(judge))

    agent = Agent(model, tools=[pay], advisors=[around(insist)])
    snapshot = paused(agent.call("go").run())
    going_on = agent.resume(snapshot, {"call_0_0": Approve()})

    assert ended(list(going_on)).text == "good"
    assert model.requests[-1].messages[-1].text == "better"
    assert ran == ["pay 5"]
    with pytest.raises(SnapshotError, match="resumed already"):
        list(going_on)


@pytest.mark.parametrize("decision", [Approve(), Approve(arguments={"amount": 1})])
def test_a_resume_that_lacks_a_tool_says_so_and_can_be_made_again(
    decision: Decision,
) -> None:
    """Whoever adds tools within the loop has not added them yet when it goes on."""

    def offering(request: ChatRequest) -> ChatRequest:
        return replace(request, tools=(*request.tools, pay))

    model = ScriptedModel(PAY, "done", "done")
    inside = Agent(model, tools=[count], advisors=[tool_loop(), before(offering)])
    outside = Agent(model, tools=[count], advisors=[before(offering), tool_loop()])
    snapshot = load_snapshot(dump_snapshot(paused(inside.call("go").run())))
    assert snapshot.tools == ("count", "pay")

    with pytest.raises(RequestError, match=r"needs the tool 'pay'.*left of tool_loop"):
        list(inside.resume(snapshot, {"call_0_0": decision}))
    events = list(outside.resume(snapshot, {"call_0_0": decision}))

    assert ended(events).text == "done"
    assert len(ran) == 1


def test_what_was_declined_needs_no_tool_any_more() -> None:
    model = ScriptedModel(PAY, "done")
    snapshot = paused(Agent(model, tools=[pay]).call("go").run())
    other = Agent(model, tools=[count])

    events = list(other.resume(snapshot, {"call_0_0": Reject()}))

    assert ended(events).text == "done"


def test_a_tool_that_a_model_has_made_up_keeps_no_turn_from_going_on() -> None:
    made_up = Said(calls=(*PAY.calls, tool_call("nothing")))
    agent = Agent(ScriptedModel(made_up, "done"), tools=[pay])
    snapshot = paused(agent.call("go").run())

    events = list(agent.resume(snapshot, {"call_0_0": Approve()}))

    assert "there is no tool 'nothing'" in ended(events).transcript[2].text


@pytest.mark.parametrize(
    ("snapshot", "decisions", "says"),
    [
        (b"{}", None, "resume takes a Snapshot, not a bytes; load_snapshot reads"),
        (None, None, "resume takes a Snapshot, not a NoneType"),
        (
            Snapshot(
                reason="client",
                pending=(),
                messages=(),
                message=AssistantMessage(content=()),
            ),
            [Approve()],
            "decisions go by the ids of calls, .* and this is a list",
        ),
    ],
)
def test_what_is_no_paused_turn_is_refused(
    snapshot: Any, decisions: Any, says: str
) -> None:
    with pytest.raises(RequestError, match=says):
        Agent(ScriptedModel(), tools=[pay]).resume(snapshot, decisions)


def test_a_failure_of_the_environment_pauses_and_only_failed_calls_run_again() -> None:
    """S000-32, M-35, M-37."""
    healthy = [False]

    @tool
    def disk(name: str) -> Observable[str]:
        """Write to the disk."""
        ran.append(f"disk {name}")
        if not healthy[0]:
            raise ToolFailedError("the disk is full", kind="environment")
        return just("written")

    calls = (tool_call("disk", name="a"), tool_call("count"))
    model = ScriptedModel(Said(calls=calls), "done")
    loop = tool_loop(on_environment="pause")
    agent = Agent(model, tools=[disk, count], advisors=[loop])
    snapshot = paused(agent.call("go").run())

    assert snapshot.reason == "environment"
    assert snapshot.pending == ("call_0_0",)
    assert [each.text for each in snapshot.results] == [
        "ToolFailedError: the disk is full",
        "counted",
    ]
    healthy[0] = True
    ran.clear()
    events = list(
        agent.resume(load_snapshot(dump_snapshot(snapshot)), {"call_0_0": Approve()})
    )
    assert ran == ["disk a"]
    response = ended(events)
    assert response.text == "done"
    assert response.context[TOTAL] == 1, "what the call that was done wrote is there"
    results = [each for each in response.transcript if isinstance(each, ToolMessage)]
    assert [each.text for each in results] == ["written", "counted"]


@pytest.mark.parametrize("decisions", [{}, {"call_0_0": Reject()}])
def test_without_a_retry_the_model_sees_what_failed(
    decisions: Mapping[str, Decision],
) -> None:
    """M-37."""

    @tool
    def disk() -> Observable[str]:
        """Write to the disk."""
        raise ToolFailedError("the disk is full", kind="environment")

    model = ScriptedModel(Said(calls=(tool_call("disk"),)), "sorry")
    loop = tool_loop(on_environment="pause")
    agent = Agent(model, tools=[disk], advisors=[loop])
    snapshot = paused(agent.call("go").run())
    list(agent.resume(snapshot, decisions))

    assert model.requests[1].messages[-1].text == "ToolFailedError: the disk is full"


@pytest.mark.parametrize(("gated", "pauses"), [(False, False), (True, True)])
def test_the_environment_pauses_a_turn_by_default_where_approvals_are_used(
    gated: bool, pauses: bool
) -> None:
    """M-41, S000-13: before return-direct is looked at."""

    @tool(return_direct=True)
    def disk() -> Observable[str]:
        """Write to the disk."""
        raise ToolFailedError("the disk is full", kind="environment")

    model = ScriptedModel(Said(calls=(tool_call("disk"),)), "sorry")
    agent = Agent(model, tools=[disk, pay] if gated else [disk])

    response = agent.call("go").run()

    assert (response.finish_reason == "paused") is pauses


def test_calls_of_a_declared_tool_are_done_by_somebody_else() -> None:
    """Client-side tools: the same mechanism; the rest of the batch runs first."""
    calls = (tool_call("browse"), tool_call("count"))
    model = ScriptedModel(Said(calls=calls), "done")
    agent = Agent(model, tools=[BROWSE, count])
    snapshot = paused(agent.call("go").run())

    assert (snapshot.reason, snapshot.pending) == ("client", ("call_0_0",))
    assert ran == ["count"]
    picture = Image(data=b"png")
    loaded = load_snapshot(dump_snapshot(snapshot))
    list(agent.resume(loaded, {"call_0_0": Reply(("see", picture))}))

    results = model.requests[1].messages[2:]
    assert [each.text for each in results] == ["see", "counted"]
    assert results[0].content[1] == picture
    assert ran == ["count"]


@pytest.mark.parametrize(
    ("decisions", "says"),
    [
        ({}, "no decision about call_0_0"),
        (
            {"call_0_0": Approve(), "x": Reject()},
            "do not wait: x; these wait: call_0_0",
        ),
    ],
)
def test_decisions_must_fit_the_pause(
    decisions: Mapping[str, Decision], says: str
) -> None:
    agent = Agent(ScriptedModel(PAY, "done"), tools=[pay])
    snapshot = paused(agent.call("go").run())

    with pytest.raises(RequestError, match=says):
        agent.resume(snapshot, decisions).run()
    agent.resume(snapshot, {"call_0_0": Approve()}).run()
    assert ran == ["pay 5"], "what was refused has not claimed the pause"


def test_a_client_call_cannot_be_approved_here() -> None:
    agent = Agent(ScriptedModel(Said(calls=(tool_call("browse"),))), tools=[BROWSE])
    snapshot = paused(agent.call("go").run())

    with pytest.raises(RequestError, match=r"Approve makes no sense .* takes Reply or"):
        agent.resume(snapshot, {"call_0_0": Approve()}).run()


def test_an_agent_that_runs_no_tools_has_nothing_to_resume() -> None:
    agent = Agent(ScriptedModel(PAY), tools=[pay])
    snapshot = paused(agent.call("go").run())

    with pytest.raises(ConfigurationError, match="runs no tools"):
        Agent(ScriptedModel("x")).resume(snapshot, {"call_0_0": Approve()})


def nested(depth: int) -> list[object]:
    return [nested(depth - 1)] if depth else []


ITSELF: list[object] = []
ITSELF.append(ITSELF)


# Of 300, json writes them all, and refuses to read them again.
@pytest.mark.parametrize(
    "stuff", [{1, 2}, nested(300), ITSELF], ids=["set", "deep", "itself"]
)
def test_state_that_is_no_json_cannot_be_saved_and_says_which(stuff: object) -> None:
    """M-38."""
    key = Key("stuff", object)

    @tool
    def fill(me: ToolContext) -> Observable[str]:
        """Fill."""
        me.set(key, stuff)
        return just("filled")

    model = ScriptedModel(Said(calls=(tool_call("fill"),)), PAY)
    agent = Agent(model, tools=[fill, pay])

    with pytest.raises(SnapshotError, match=f"'stuff' holds a {type(stuff).__name__}"):
        agent.call("go").run()


def test_what_the_caller_passed_is_not_saved() -> None:
    """No secret in a snapshot."""
    agent = Agent(ScriptedModel(PAY, "done"), tools=[pay])
    response = agent.call("go", context={"token": "tk-very-secret"}).run()

    assert b"tk-very-secret" not in dump_snapshot(paused(response))


def test_limits_count_what_was_called_before_the_pause() -> None:
    model = ScriptedModel(COUNT, PAY, COUNT, "x")
    loop = tool_loop(max_calls=2)
    agent = Agent(model, tools=[pay, count], advisors=[loop])
    snapshot = paused(agent.call("go").run())
    events = list(agent.resume(snapshot, {"call_1_0": Approve()}))

    assert ended(events).finish_reason == "tool_limit"
    assert ran == ["count", "pay 5"]


def test_a_turn_may_pause_again() -> None:
    model = ScriptedModel(PAY, PAY, "done")
    agent = Agent(model, tools=[pay])
    first = paused(agent.call("go").run())
    events = list(agent.resume(first, {"call_0_0": Approve()}))
    second = paused(ended(events))
    events = list(agent.resume(second, {"call_1_0": Approve()}))

    assert second.id != first.id
    assert ended(events).text == "done"
    assert ran == ["pay 5", "pay 5"]
    assert len(ended(events).transcript) == 5


def test_events_of_a_resumed_turn_carry_its_run_and_round() -> None:
    agent = Agent(ScriptedModel(COUNT, PAY, "done"), tools=[pay, count])
    response = agent.call("go").run()
    snapshot = paused(response)
    events = list(agent.resume(snapshot, {"call_1_0": Approve()}))

    started = next(each for each in events if isinstance(each, ToolStarted))
    assert started.origin == snapshot.origin
    assert started.origin.round == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b'{"version":2}',
        b'{"reason":"approval","pending":[1]}',
        b"\xff",
    ],
)
def test_what_is_no_snapshot_is_refused_with_its_place(data: bytes) -> None:
    with pytest.raises(SnapshotError, match="no paused turn that can be read: "):
        load_snapshot(data)


@given(data=st.binary(max_size=40))
def test_arbitrary_bytes_are_refused_and_nothing_else_happens(data: bytes) -> None:
    with pytest.raises(SnapshotError):
        load_snapshot(data)


def test_a_claim_in_a_folder_holds_for_every_process(tmp_path: Path) -> None:
    claim, other = claims_in_folder(tmp_path / "c"), claims_in_folder(tmp_path / "c")

    assert [claim("abc"), other("abc"), claim("abd")] == [True, False, True]
    with pytest.raises(SnapshotError, match="not the id of a snapshot"):
        claim("../abc")


PROGRAM = """
import sys, json, os, signal
from pathlib import Path
from reactivex import Observable
from rxagent import Agent, Key, ToolContext, tool
from rxagent.advisors import tool_loop
from rxagent.decisions import Approve
from rxagent.errors import SnapshotError
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.snapshots import claims_in_folder
from rxagent.testing import Reply, ScriptedModel, tool_call

folder = Path(sys.argv[2])
TOTAL = Key("total", int)

@tool(needs_approval=True)
def pay(amount: int, me: ToolContext) -> str:
    '''Pay.'''
    with (folder / "paid").open("a") as file:
        file.write(f"{amount} after {me.context[TOTAL]};")
    return "paid"

@tool
def count(me: ToolContext) -> str:
    '''Count.'''
    me.set(TOTAL, 7)
    return "counted"

asks = Reply(calls=(tool_call("count"),)), Reply(calls=(tool_call("pay", amount=5),))
steps = asks if sys.argv[1] == "start" else ("all done",)
agent = Agent(ScriptedModel(*steps), tools=[pay, count],
              advisors=[tool_loop(claim=claims_in_folder(folder / "claims"))])
if sys.argv[1] == "start":
    response = agent.call("go").run()
    (folder / "snapshot").write_bytes(dump_snapshot(response.snapshot))
    os.kill(os.getpid(), signal.SIGKILL)
snapshot = load_snapshot((folder / "snapshot").read_bytes())
try:
    for event in agent.resume(snapshot, {snapshot.pending[0]: Approve()}):
        pass
    print(event.response.text, event.response.context[TOTAL])
except SnapshotError as error:
    print("refused:", error)
"""


def test_a_paused_turn_survives_the_end_of_its_process(tmp_path: Path) -> None:
    """Killed after it paused; resumed in another process, once in all of them."""

    def run(what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, what, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    killed, resumed, again = run("start"), run("resume"), run("resume")

    assert killed.returncode == -9, killed.stderr
    assert json.loads((tmp_path / "snapshot").read_text())["version"] == 1
    assert resumed.stdout == "all done 7\n", resumed.stderr
    assert again.stdout.startswith("refused: the paused turn"), again.stderr
    assert (tmp_path / "paid").read_text() == "5 after 7;"


def test_what_is_cut_off_in_the_middle_of_a_batch_cannot_be_resumed_again() -> None:
    """M-43: out of scope, and the how-to says so; but nothing can run twice."""

    @tool(needs_approval=True)
    def wait() -> Observable[str]:
        """Wait."""
        ran.append("wait")
        return reactivex.never()

    agent = Agent(ScriptedModel(Said(calls=(tool_call("wait"),))), tools=[wait])
    snapshot = paused(agent.call("go").run())
    decisions = {"call_0_0": Approve()}
    agent.resume(snapshot, decisions).subscribe().dispose()
    assert ran == ["wait"]

    with pytest.raises(SnapshotError, match="has been resumed already"):
        agent.resume(snapshot, decisions).run()
    assert ran == ["wait"]
    page = Path(__file__).parents[2] / "docs" / "how-to" / "approve-calls.md"
    assert "dies in the middle of a batch is not covered" in page.read_text()


def test_an_after_advisor_sees_a_paused_turn_as_an_end() -> None:
    """M-3: it passes through."""
    passes: Advisor = after(lambda source: source)
    agent = Agent(ScriptedModel(PAY), tools=[pay], advisors=[passes])

    response = agent.call("go").run()

    assert isinstance(response.message, AssistantMessage)
    assert response.finish_reason == "paused"


def test_a_pause_is_resumed_once_whatever_advisors_are_put_around() -> None:
    agent = Agent(ScriptedModel(PAY, "done", "done"), tools=[pay])
    snapshot = paused(agent.call("go").run())
    decisions = {"call_0_0": Approve()}
    passes: Advisor = after(lambda source: source)
    agent.resume(snapshot, decisions, advisors=[passes]).run()

    with pytest.raises(SnapshotError):
        agent.resume(snapshot, decisions, advisors=[passes]).run()
    assert ran == ["pay 5"]


@pytest.mark.parametrize(
    "decision", [Approve(arguments={"amount": float("nan")}), Reply(cast("Any", 5))]
)
def test_a_decision_that_cannot_be_used_leaves_the_pause_as_it_was(
    decision: Decision,
) -> None:
    agent = Agent(ScriptedModel(PAY, "done"), tools=[pay])
    snapshot = paused(agent.call("go").run())

    with pytest.raises(RequestError, match="cannot be used"):
        agent.resume(snapshot, {"call_0_0": decision}).run()
    agent.resume(snapshot, {"call_0_0": Approve()}).run()
    assert ran == ["pay 5"]


def test_tools_of_the_call_can_be_resumed_with_tools_of_the_call() -> None:
    agent = Agent(ScriptedModel(PAY, "done"))
    snapshot = paused(agent.call("go", tools=[pay]).run())
    agent.resume(snapshot, {"call_0_0": Approve()}, tools=[pay]).run()

    assert ran == ["pay 5"]


def test_the_environment_pauses_before_what_somebody_else_runs() -> None:
    """S000-13: both wait, one after the other, and each gets its decision."""
    healthy = [False]

    @tool
    def disk() -> Observable[str]:
        """Write to the disk."""
        if not healthy[0]:
            raise ToolFailedError("the disk is full", kind="environment")
        return just("written")

    calls = (tool_call("disk"), tool_call("browse"))
    model = ScriptedModel(Said(calls=calls), "done")
    loop = tool_loop(on_environment="pause")
    agent = Agent(model, tools=[disk, BROWSE], advisors=[loop])
    first = paused(agent.call("go").run())
    healthy[0] = True
    second = paused(ended(list(agent.resume(first, {"call_0_0": Approve()}))))
    list(agent.resume(second, {"call_0_1": Reply("seen")}))

    assert (first.reason, second.reason) == ("environment", "client")
    assert second.pending == ("call_0_1",)
    results = model.requests[1].messages[2:]
    assert [each.text for each in results] == ["written", "seen"]


def test_a_call_that_failed_may_run_again_with_other_arguments() -> None:
    @tool
    def save(disk: str) -> Observable[str]:
        """Save."""
        if disk == "a":
            raise ToolFailedError("a is full", kind="environment")
        return just(f"on {disk}")

    model = ScriptedModel(Said(calls=(tool_call("save", disk="a"),)), "done")
    loop = tool_loop(on_environment="pause")
    agent = Agent(model, tools=[save], advisors=[loop])
    snapshot = paused(agent.call("go").run())
    list(agent.resume(snapshot, {"call_0_0": Approve(arguments={"disk": "b"})}))

    assert model.requests[1].messages[-1].text == "on b"


def test_limits_and_options_survive_a_pause() -> None:
    model = ScriptedModel(COUNT, PAY, COUNT, "x")
    loop = tool_loop(max_identical_calls=1)
    agent = Agent(model, tools=[pay, count], advisors=[loop])
    options = ChatOptions(temperature=0.5)
    snapshot = paused(agent.call("go", options=options).run())
    loaded = load_snapshot(dump_snapshot(snapshot))
    events = list(agent.resume(loaded, {"call_1_0": Approve()}))

    assert ended(events).finish_reason == "tool_limit"
    assert model.requests[-1].options.temperature == 0.5


def test_a_number_that_json_does_not_know_cannot_be_saved() -> None:
    key = Key("stuff", float)

    @tool
    def fill(me: ToolContext) -> Observable[str]:
        """Fill."""
        me.set(key, float("nan"))
        return just("filled")

    model = ScriptedModel(Said(calls=(tool_call("fill"),)), PAY)

    with pytest.raises(SnapshotError, match="'stuff' holds a float"):
        Agent(model, tools=[fill, pay]).call("go").run()


def test_what_a_client_cannot_run_it_is_not_asked_for() -> None:
    broken = ToolCall(id="", name="browse", arguments='{"url":')
    model = ScriptedModel(Said(calls=(broken,)), "done")

    assert Agent(model, tools=[BROWSE]).call("go").run().text == "done"
