"""What tools wrote is in the context of the turn, however it ends but for an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from reactivex import Observable

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import around
from rxagent.context import Key
from rxagent.decisions import Approve
from rxagent.errors import ModelError, ToolFailedError
from rxagent.events import ChatEvent, Finished, RoundFinished
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.operators import just
from rxagent.requests import ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, tool
from rxagent.types import Exchange

TOTAL = Key("total", int, reduce=lambda old, new: old + new)
BROWSE = ToolSpec(name="browse", description="Done by the app.", parameters={})


@tool
def add(amount: int, me: ToolContext) -> Observable[str]:
    """Add."""
    me.set(TOTAL, amount)
    return just("added")


@tool(return_direct=True)
def tell(me: ToolContext) -> Observable[str]:
    """Add, and tell."""
    me.set(TOTAL, 1)
    return just("told")


@tool(needs_approval=True)
def pay(me: ToolContext) -> Observable[str]:
    """Pay."""
    me.set(TOTAL, 10)
    return just("paid")


def calls(*names: str) -> Reply:
    return Reply(
        calls=tuple(
            tool_call(name, **({"amount": 1} if name == "add" else {}))
            for name in names
        )
    )


def agent_of(*steps: str | Reply | Exception, **limits: int) -> Agent:
    tools: list[ToolSpec] = [add, tell, pay, BROWSE]
    loop = tool_loop(**limits)  # type: ignore[arg-type]
    return Agent(ScriptedModel(*steps), tools=tools, advisors=[loop])


@pytest.mark.parametrize(
    ("make", "reason", "total"),
    [
        (lambda: agent_of(calls("add", "add"), "ok"), "stop", 2),
        (lambda: agent_of(calls("add"), calls("tell")), "return_direct", 2),
        (
            lambda: agent_of(calls("add"), calls("add"), max_rounds=1),
            "tool_limit",
            1,
        ),
        (
            lambda: agent_of(calls("add"), calls("add", "add"), max_calls=2),
            "tool_limit",
            1,
        ),
        (lambda: agent_of(calls("add"), calls("add", "pay")), "paused", 1),
        (lambda: agent_of(calls("add"), calls("add", "browse")), "paused", 2),
    ],
)
def test_every_end_has_what_was_written_in_rounds_that_completed(
    make: Callable[[], Agent], reason: str, total: int
) -> None:
    """S000-12, S000-6: folded at the barrier of each round."""
    response = make().call("go").run()

    assert (response.finish_reason, response.context[TOTAL]) == (reason, total)
    if response.snapshot is not None:
        loaded = load_snapshot(dump_snapshot(response.snapshot))
        assert loaded.state == {"total": total}


def ended(agent: Agent, response: ChatResponse) -> ChatResponse:
    """Approve everything that waits."""
    assert response.snapshot is not None
    snapshot = load_snapshot(dump_snapshot(response.snapshot))
    events = list(agent.resume(snapshot, dict.fromkeys(snapshot.pending, Approve())))
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


def test_a_pause_folds_nothing_twice_and_loses_nothing() -> None:
    """M-40: the round before the pause, the rest of its round, and the round after."""
    agent = agent_of(calls("add"), calls("add", "pay"), calls("add"), "done")

    response = ended(agent, agent.call("go").run())

    assert (response.text, response.context[TOTAL]) == ("done", 1 + 1 + 10 + 1)


def test_a_call_that_runs_again_writes_once() -> None:
    """M-14, M-37: a failed call contributes nothing, its mates do, once."""
    healthy = [False]

    @tool
    def disk(me: ToolContext) -> Observable[str]:
        """Write to the disk."""
        me.set(TOTAL, 100)
        if not healthy[0]:
            raise ToolFailedError("the disk is full", kind="environment")
        return just("written")

    loop = tool_loop(on_environment="pause")
    model = ScriptedModel(calls("add", "disk"), "done")
    agent = Agent(model, tools=[add, disk], advisors=[loop])
    waiting = agent.call("go").run()
    assert waiting.context[TOTAL] == 1
    healthy[0] = True

    assert ended(agent, waiting).context[TOTAL] == 101


def test_of_a_turn_that_ends_with_an_error_nothing_is_left_but_its_events() -> None:
    """Decided: an error has no response; an advisor outside sees the rounds before."""
    seen: list[bool] = []

    def watch(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        seen.append(TOTAL in request.context)
        return just(request).pipe(inner)

    model = ScriptedModel(calls("add"), ModelError("no"), "fresh")
    agent = Agent(model, tools=[add], advisors=[around(watch)])
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    agent.stream("go").subscribe(events.append, errors.append)

    assert [str(error) for error in errors] == ["no"]
    assert sum(isinstance(each, RoundFinished) for each in events) == 1
    assert TOTAL not in agent.call("again").run().context
    assert seen == [False, False]
