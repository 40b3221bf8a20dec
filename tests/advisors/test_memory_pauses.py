"""Turns that pause, with a memory: what is stored then, and when they go on."""

from __future__ import annotations

import pytest
from reactivex import Observable

from rxagent.advisors import memory, tool_loop
from rxagent.agent import Agent
from rxagent.decisions import Approve
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.memory import MemoryStore
from rxagent.messages import ToolMessage
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.responses import ChatResponse
from rxagent.snapshots import Snapshot
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from tests.advisors.remembering import ID, assert_valid, look, shown, stored

in_or_out = pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])

BROKEN = OSError("the model broke")
LOOK = Reply(deltas=("see",), calls=(tool_call("look", what="x"),))
ROUND = ["assistant see calls look", "tool x!"]


@tool(needs_approval=True)
def pay(amount: int) -> Observable[str]:
    """Pay."""
    return just(f"paid {amount}")


BOTH = Reply(calls=(tool_call("look", what="x"), tool_call("browse")))
PAY = Reply(calls=(tool_call("pay", amount=5),))
BROWSE = ToolSpec(name="browse", description="Done by the app.", parameters={})


def payer(model: ScriptedModel, store: MemoryStore, *, inside: bool) -> Agent:
    pair = [memory(store), tool_loop()]
    advisors = pair[::-1] if inside else pair
    return Agent(model, tools=[pay, look, BROWSE], advisors=advisors, context=ID)


def paused(response: ChatResponse) -> Snapshot:
    assert response.snapshot is not None
    return load_snapshot(dump_snapshot(response.snapshot))


@in_or_out
def test_a_pause_stores_what_has_happened_and_a_resume_the_rest(inside: bool) -> None:
    """M-36: the store has the turn once."""
    store, model = MemoryStore(), ScriptedModel("A", LOOK, PAY, "done", "more")
    agent = payer(model, store, inside=inside)
    agent.call("first").run()
    snapshot = paused(agent.call("a").run())
    before = ["user first", "assistant A", "user a", *ROUND, "assistant calls pay"]
    assert shown(stored(store)) == before

    resumed = agent.resume(snapshot, {snapshot.pending[0]: Approve()}, context=ID)
    list(resumed)

    turn = [*before, "tool paid 5", "assistant done"]
    assert shown(stored(store)) == turn
    agent.call("b").run()
    assert shown(model.requests[-1].messages) == [*turn, "user b"]
    assert shown(model.requests[-2].messages) == turn[:-1]


@in_or_out
def test_a_new_turn_in_place_of_a_resume_finds_a_valid_history(inside: bool) -> None:
    """M-39, M-42, S000-82: and a resume after all is valid too."""
    store, model = MemoryStore(), ScriptedModel(LOOK, PAY, "B", "done", "C")
    agent = payer(model, store, inside=inside)
    snapshot = paused(agent.call("a").run())

    agent.call("b").run()

    sent = model.requests[-1].messages
    assert_valid(sent)
    assert isinstance(sent[-2], ToolMessage)
    assert sent[-2].is_error
    assert shown(stored(store))[-3:] == ["assistant calls pay", "user b", "assistant B"]
    list(agent.resume(snapshot, {snapshot.pending[0]: Approve()}, context=ID))
    agent.call("c").run()
    assert_valid(model.requests[-1].messages)
    assert "tool paid 5" in shown(model.requests[-1].messages)


@in_or_out
def test_results_before_a_pause_are_stored_with_it(inside: bool) -> None:
    store, model = MemoryStore(), ScriptedModel(BOTH, "done", "B")
    agent = payer(model, store, inside=inside)
    paused(agent.call("a").run())

    turn = ["user a", "assistant calls look calls browse", "tool x!"]
    assert shown(stored(store)) == turn
    agent.call("b").run()
    assert [each.is_error for each in model.requests[-1].messages[2:4]] == [  # type: ignore[union-attr]
        False,
        True,
    ]


def test_what_fails_in_a_resumed_turn_does_not_undo_the_pause() -> None:
    store, model = MemoryStore(), ScriptedModel(LOOK, PAY, BROKEN)
    agent = payer(model, store, inside=False)
    snapshot = paused(agent.call("a").run())
    before = stored(store)

    with pytest.raises(OSError, match="broke"):
        agent.resume(snapshot, {snapshot.pending[0]: Approve()}, context=ID).run()

    assert stored(store) == before


def test_nothing_of_a_pause_is_kept_where_the_words_alone_are() -> None:
    store, model = MemoryStore(), ScriptedModel(PAY, "done")
    remembering = memory(store, keep="answer")
    agent = Agent(model, tools=[pay], advisors=[remembering], context=ID)
    snapshot = paused(agent.call("a").run())
    assert stored(store) == ()

    list(agent.resume(snapshot, {snapshot.pending[0]: Approve()}, context=ID))

    assert shown(stored(store)) == ["user a", "assistant done"]


def test_a_pause_that_another_store_has_never_seen_is_stored_whole() -> None:
    store, model = MemoryStore(), ScriptedModel(LOOK, PAY, "done")
    snapshot = paused(payer(model, MemoryStore(), inside=False).call("a").run())
    agent = payer(model, store, inside=False)

    list(agent.resume(snapshot, {snapshot.pending[0]: Approve()}, context=ID))

    assert shown(stored(store)) == [
        "user a",
        *ROUND,
        "assistant calls pay",
        "tool paid 5",
        "assistant done",
    ]
