"""What a memory stores of turns that fail, are left, or pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from rxagent.advisors import memory, tool_loop
from rxagent.advisors._turn_record import OnFailure
from rxagent.agent import Agent
from rxagent.chain import after
from rxagent.errors import GuardError, StoreError, StreamCancelledError
from rxagent.events import ChatEvent, Retracted, TextDelta
from rxagent.memory import MemoryStore, SqliteStore
from rxagent.messages import Message, UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.runtime import from_async_iterable, iterate
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, tool
from tests.advisors.remembering import (
    ID,
    Watched,
    agent_of,
    assert_valid,
    look,
    shown,
    stored,
)

in_or_out = pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
POLICIES: tuple[OnFailure, ...] = ("discard", "mark", "keep_user")

BROKEN = OSError("the model broke")
LOOK = Reply(deltas=("see",), calls=(tool_call("look", what="x"),))
ROUND = ["assistant see calls look", "tool x!"]
PART = Reply(deltas=("par", "tial"), error=BROKEN)
PARTIAL = "assistant partial (interrupted)"


def fail(agent: Agent, text: str = "a") -> None:
    with pytest.raises(OSError, match="the model broke") as at:
        agent.call(text).run()
    assert at.value is BROKEN


@pytest.mark.parametrize(
    ("on_failure", "script", "kept"),
    [
        ("discard", [PART], []),
        ("discard", [LOOK, PART], []),
        ("mark", [BROKEN], []),
        ("mark", [Reply(deltas=(" ",), error=BROKEN)], []),
        ("mark", [PART], ["user a", PARTIAL]),
        ("mark", [LOOK, PART], ["user a", *ROUND, PARTIAL]),
        ("mark", [LOOK, BROKEN], ["user a", *ROUND]),
        ("keep_user", [BROKEN], ["user a"]),
        ("keep_user", [LOOK, PART], ["user a"]),
    ],
)
def test_a_turn_that_fails_is_stored_as_it_was_set(
    on_failure: OnFailure, script: list[Reply], kept: list[str]
) -> None:
    """S001-26, Q1; acceptance 59: a model error, at once and in the second round."""
    store, model = MemoryStore(), ScriptedModel("A", *script, "B", "C")
    agent = agent_of(model, memory(store, on_failure=on_failure))
    agent.call("first").run()
    fail(agent)

    assert shown(stored(store))[2:] == kept
    agent.call("b").run()
    agent.call("c").run()
    assert_valid(model.requests[-1].messages)
    assert shown(stored(store))[-4:] == [
        "user b",
        "assistant B",
        "user c",
        "assistant C",
    ]


@pytest.mark.parametrize(
    ("on_failure", "script", "kept"),
    [
        ("discard", [PART], []),
        ("discard", [LOOK, PART], ["user a", *ROUND]),
        ("mark", [PART], ["user a", PARTIAL]),
        ("mark", [LOOK, PART], ["user a", *ROUND, PARTIAL]),
        ("mark", [LOOK, BROKEN], ["user a", *ROUND]),
        ("keep_user", [BROKEN], ["user a"]),
        ("keep_user", [LOOK, PART], ["user a", *ROUND]),
    ],
)
def test_inside_the_loop_the_rounds_that_were_stay(
    on_failure: OnFailure, script: list[Reply], kept: list[str]
) -> None:
    """With their results: a tool that has run must not seem to have been cut off."""
    store, model = MemoryStore(), ScriptedModel(*script, "B")
    agent = agent_of(model, memory(store, on_failure=on_failure), inside=True)
    fail(agent)

    assert shown(stored(store)) == kept
    agent.call("b").run()
    assert_valid(model.requests[-1].messages)


def test_with_the_words_alone_the_rounds_are_not_kept_either() -> None:
    store = MemoryStore()
    remembering = memory(store, keep="answer", on_failure="mark")
    fail(agent_of(ScriptedModel(LOOK, PART), remembering))

    assert shown(stored(store)) == ["user a", PARTIAL]


def test_text_that_was_retracted_is_not_kept() -> None:
    events: list[ChatEvent] = [
        TextDelta(text="wrong"),
        Retracted(reason="no"),
        TextDelta(text="right"),
    ]
    store = MemoryStore()

    def model(_: object) -> Observable[ChatEvent]:
        return reactivex.concat(just(*events), reactivex.throw(BROKEN))

    remembering = memory(store, on_failure="mark")
    fail(Agent(model, advisors=[remembering], context=ID))

    assert shown(stored(store)) == ["user a", "assistant right (interrupted)"]


@pytest.mark.parametrize("on_failure", POLICIES)
def test_nothing_is_kept_of_what_a_guard_has_stopped(on_failure: OnFailure) -> None:
    """Q2."""

    def stop(_: ChatEvent) -> ChatEvent:
        raise GuardError("words", "was said")

    store = MemoryStore()
    agent = Agent(
        ScriptedModel(Reply(deltas=("fine", "bomb"))),
        advisors=[memory(store, on_failure=on_failure), after(ops.map(stop))],
        context=ID,
    )
    with pytest.raises(GuardError):
        agent.call("a").run()

    assert stored(store) == ()


def test_a_question_that_was_kept_may_be_asked_again() -> None:
    store, model = MemoryStore(), ScriptedModel(BROKEN, "A")
    agent = Agent(model, advisors=[memory(store, on_failure="keep_user")], context=ID)
    flow = agent.call("a")
    with pytest.raises(OSError, match="broke"):
        flow.run()
    flow.run()

    assert shown(model.requests[1].messages) == ["user a"]
    assert shown(stored(store)) == ["user a", "assistant A"]


@pytest.mark.parametrize(
    ("on_failure", "moment", "kept"),
    [
        ("discard", 25, []),
        ("mark", 5, []),
        ("mark", 15, ["user a", "assistant par (interrupted)"]),
        ("mark", 25, ["user a", PARTIAL]),
        ("mark", 99, ["user a", "assistant partial!"]),
        ("keep_user", 5, ["user a"]),
        ("keep_user", 99, ["user a", "assistant partial!"]),
    ],
)
def test_a_turn_that_is_left_is_stored_as_it_was_set(
    on_failure: OnFailure, moment: int, kept: list[str]
) -> None:
    """V-25, Law 5; acceptance 60: once, and not again when it has ended."""
    reply = Reply(deltas=("par", "tial", "!"), first_s=10.0, gap_s=10.0)
    store, scheduler = Watched(), TestScheduler()
    agent = Agent(
        ScriptedModel(reply),
        advisors=[memory(store, on_failure=on_failure)],
        context=ID,
    )

    subscription = agent.stream("a").subscribe(scheduler=scheduler)
    scheduler.advance_to(moment)
    subscription.dispose()
    subscription.dispose()
    scheduler.start()

    assert shown(stored(store)) == kept
    writes = [each for each in store.asked if each.startswith("append")]
    assert len(writes) == bool(kept)


class Slow(MemoryStore):
    """A store whose writes wait for a sign."""

    def __init__(self) -> None:
        super().__init__()
        self.signs = Subject[None]()

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        written = super().append(
            conversation_id, messages, expected_version=expected_version
        )
        return self.signs.pipe(ops.take(1), ops.flat_map(lambda _: written))


def test_a_write_that_has_begun_goes_on_though_its_reader_leaves() -> None:
    """V-25: wholly, and not a second time as a broken turn."""
    store = Slow()
    events: list[ChatEvent] = []
    agent = Agent(
        ScriptedModel("A"), advisors=[memory(store, on_failure="mark")], context=ID
    )
    subscription = agent.stream("a").subscribe(events.append)
    assert events == [TextDelta(text="A")]  # its end is not told yet

    subscription.dispose()
    store.signs.on_next(None)

    assert shown(stored(store)) == ["user a", "assistant A"]
    assert len(events) == 1


def test_leaving_does_not_wait_for_a_write() -> None:
    store = Slow()
    reply = Reply(deltas=("par", "tial"), gap_s=60.0)
    agent = Agent(
        ScriptedModel(reply), advisors=[memory(store, on_failure="mark")], context=ID
    )
    subscription = agent.stream("a").subscribe(scheduler=TestScheduler())
    subscription.dispose()
    assert stored(store) == ()

    store.signs.on_next(None)

    assert shown(stored(store)) == ["user a", "assistant par (interrupted)"]


def test_a_turn_that_is_left_is_stored_though_its_loop_ends(tmp_path: Path) -> None:
    """V-25: leaving a stream is often the last thing that a program does."""
    reply = Reply(deltas=("par", "tial"), gap_s=60.0)

    async def leave(agent: Agent) -> None:
        async with aclosing(iterate(agent.stream("a"))) as events:
            async for _ in events:
                return

    with SqliteStore(tmp_path / "chats.db") as store:
        remembering = memory(store, on_failure="mark")
        agent = Agent(ScriptedModel(reply), advisors=[remembering], context=ID)
        asyncio.run(leave(agent))

        assert shown(stored(store)) == ["user a", "assistant par (interrupted)"]


def test_a_turn_whose_loop_ends_under_it_is_stored_too(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[ChatEvent]:
        yield TextDelta(text="par")
        await asyncio.Event().wait()

    def model(_: object) -> Observable[ChatEvent]:
        return from_async_iterable(endless)

    async def begin(agent: Agent, errors: list[Exception]) -> None:
        begun = asyncio.Event()
        agent.stream("a").subscribe(lambda _: begun.set(), errors.append)
        await begun.wait()

    errors: list[Exception] = []
    with SqliteStore(tmp_path / "chats.db") as store:
        remembering = memory(store, on_failure="mark")
        asyncio.run(begin(Agent(model, advisors=[remembering], context=ID), errors))

        assert [type(each) for each in errors] == [StreamCancelledError]
        assert shown(stored(store)) == ["user a", "assistant par (interrupted)"]


@pytest.mark.parametrize("how", ["fails", "is left"])
def test_a_broken_turn_that_cannot_be_stored_is_logged(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Law 8: and an error of the model stays the error."""
    store = Watched(failing=["append"])
    reply = PART if how == "fails" else Reply(deltas=("partial",), gap_s=60.0)
    remembering = memory(store, on_failure="mark")
    agent = Agent(ScriptedModel(reply), advisors=[remembering], context=ID)

    with caplog.at_level(logging.WARNING, "rxagent.advisors.memory"):
        if how == "fails":
            fail(agent)
        else:
            scheduler = TestScheduler()
            agent.stream("a").subscribe(scheduler=scheduler).dispose()
            scheduler.start()

    assert "a turn that broke off was not stored" in caplog.text
    assert "on fire" in caplog.text


def test_a_load_that_is_left_stores_nothing() -> None:
    class Never(Watched):
        def load(self, conversation_id: str) -> Observable[object]:  # type: ignore[override]
            return reactivex.never()

    store = Never()
    remembering = memory(store, on_failure="keep_user")  # type: ignore[arg-type]
    agent = Agent(ScriptedModel(), advisors=[remembering], context=ID)
    agent.stream("a").subscribe().dispose()

    assert store.asked == []


@pytest.mark.parametrize("direct", [False, True])
def test_results_that_cannot_be_handed_over_are_the_error(direct: bool) -> None:
    """Inside the loop, at the end of a turn that no request follows."""
    store = Watched()

    @tool(return_direct=direct)
    def burn() -> Observable[str]:
        """Set the store on fire."""
        store.failing.add("append")
        return just("ashes")

    model = ScriptedModel(Reply(calls=(tool_call("burn"),)))
    loop = tool_loop(max_rounds=1)
    agent = Agent(model, tools=[burn], advisors=[loop, memory(store)], context=ID)

    with pytest.raises(StoreError, match="on fire"):
        agent.call("a").run()


@in_or_out
def test_a_turn_that_ends_at_a_limit_is_stored_with_its_results(inside: bool) -> None:
    store, model = MemoryStore(), ScriptedModel(LOOK, "B")
    loop, remembering = tool_loop(max_rounds=1), memory(store)
    pair = [loop, remembering] if inside else [remembering, loop]
    agent = Agent(model, tools=[look], advisors=pair, context=ID)

    assert agent.call("a").run().finish_reason == "tool_limit"

    assert shown(stored(store)) == ["user a", *ROUND]
    agent.call("b").run()
    assert_valid(model.requests[-1].messages)


def two_rounds() -> tuple[
    ScriptedModel, Callable[[MemoryStore, OnFailure, bool], Agent]
]:
    @tool
    async def wait(me: ToolContext) -> str:
        """Wait for some turns of the loop."""
        for _ in range(2):
            await asyncio.sleep(0)
        return "waited"

    calls = Reply(
        deltas=("let", "me"), calls=(tool_call("wait"), tool_call("look", what="x"))
    )

    def reply(request: ChatRequest) -> Reply:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text == "next":
            return Reply(deltas=("fine",))
        return Reply(deltas=("do", "ne")) if request.origin.round == 2 else calls

    model = ScriptedModel(reply, repeat_last=True)

    def agent(store: MemoryStore, on_failure: OnFailure, inside: bool) -> Agent:
        pair = [memory(store, on_failure=on_failure), tool_loop()]
        advisors = pair[::-1] if inside else pair
        return Agent(model, tools=[wait, look], advisors=advisors, context=ID)

    return model, agent


@in_or_out
@pytest.mark.parametrize("on_failure", POLICIES)
def test_a_turn_may_be_left_at_every_event_and_the_next_one_is_valid(
    inside: bool, on_failure: OnFailure
) -> None:
    """Law 5, Q1: the store is as before, complete, or as it was set; always valid."""

    async def left_after(count: int) -> int:
        store = MemoryStore()
        model, agent_with = two_rounds()
        agent = agent_with(store, on_failure, inside)
        await agent.call("next")
        events = agent.stream("a").pipe(ops.take(count))
        seen = 0
        async with aclosing(iterate(events)) as flow:
            async for _ in flow:
                seen += 1
        kept = shown((await store.load("7")).messages)
        await agent.call("next")
        assert_valid(model.requests[-1].messages)
        assert kept[:2] == ["user next", "assistant fine"]
        assert kept[2:3] in ([], ["user a"])
        if on_failure == "discard" and not inside:
            assert len(kept) in (2, 10)
        return seen

    async def everywhere() -> None:
        whole = await left_after(1_000)
        assert whole > 20
        for count in range(1, whole):
            assert await left_after(count) == count

    asyncio.run(everywhere())
