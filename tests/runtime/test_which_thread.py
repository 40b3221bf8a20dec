"""Which thread calls whom: none is promised but that of the reader's own loop.

The pages say so: ``docs/explanation/where-streams-run.md``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar

import pytest
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler

from rxagent.agent import Agent
from rxagent.chain import after
from rxagent.events import ChatEvent
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel

PORTAL = "rxagent-portal"
USER: ContextVar[str] = ContextVar("USER", default="nobody")
Read = Callable[[Flow[ChatEvent], Callable[[object], None]], None]


def here() -> str:
    return threading.current_thread().name


def run(flow: Flow[ChatEvent], _: Callable[[object], None]) -> None:
    flow.run()


def each(flow: Flow[ChatEvent], take: Callable[[object], None]) -> None:
    for event in flow:
        take(event)


def awaited(flow: Flow[ChatEvent], _: Callable[[object], None]) -> None:
    async def main() -> None:
        await flow

    asyncio.run(main())


def async_each(flow: Flow[ChatEvent], take: Callable[[object], None]) -> None:
    async def main() -> None:
        async for event in flow:
            take(event)

    asyncio.run(main())


def on_a_loop(flow: Flow[ChatEvent], take: Callable[[object], None]) -> None:
    async def main() -> None:
        done = asyncio.Event()
        flow.subscribe(take, on_completed=done.set)
        await done.wait()

    asyncio.run(main())


@pytest.mark.parametrize("gap_s", [0.0, 0.001], ids=["at once", "over time"])
@pytest.mark.parametrize(
    ("read", "portal_feeds"),
    [
        (run, True),
        (each, True),
        (awaited, False),
        (async_each, False),
        (on_a_loop, False),
    ],
)
def test_a_stream_is_fed_by_its_loop_and_read_where_the_reader_stands(
    read: Read, portal_feeds: bool, gap_s: float
) -> None:
    """S002-26: a callback is called by the loop, a loop's body by the caller."""
    callbacks, bodies = set[str](), set[str]()

    def called(_: object) -> None:
        callbacks.add(here())

    model = ScriptedModel(Reply(deltas=("a", "b"), gap_s=gap_s))
    agent = Agent(model, advisors=[after(ops.do_action(called))])
    flow = agent.stream("hi").pipe(ops.do_action(called))

    def caller() -> None:
        read(flow, lambda _: bodies.add(here()))

    thread = threading.Thread(target=caller, name="caller")
    thread.start()
    thread.join(10)

    assert callbacks == {PORTAL if portal_feeds else "caller"}
    assert bodies <= {"caller"}


def test_a_callback_without_a_loop_is_called_by_whoever_has_something_to_say() -> None:
    """S002-26: by the subscriber while it subscribes, and by the portal afterwards."""
    threads: list[str] = []
    done = threading.Event()
    model = ScriptedModel(Reply(deltas=("a", "b"), gap_s=0.001))
    Agent(model).stream("hi").subscribe(
        lambda _: threads.append(here()), on_completed=done.set
    )

    assert done.wait(10)
    assert threads == [here(), PORTAL, PORTAL]


def test_who_needs_a_thread_switches_to_it() -> None:
    """S002-26, S002-28."""
    threads = set[str]()
    done = threading.Event()
    own = EventLoopScheduler(
        thread_factory=lambda target: threading.Thread(
            target=target, name="window", daemon=True
        )
    )
    model = ScriptedModel(Reply(deltas=("a", "b"), gap_s=0.001))
    Agent(model).stream("hi").pipe(ops.observe_on(own)).subscribe(
        lambda _: threads.add(here()), on_completed=done.set
    )

    assert done.wait(10)
    own.dispose()
    assert threads == {"window"}


@pytest.mark.parametrize("read", [run, each, awaited, async_each, on_a_loop])
def test_a_callback_has_the_context_variables_of_whoever_subscribed(read: Read) -> None:
    seen = set[str]()
    model = ScriptedModel(Reply(deltas=("a", "b"), gap_s=0.001))
    flow = Agent(model).stream("hi")
    noted = flow.pipe(ops.do_action(lambda _: seen.add(USER.get())))

    token = USER.set("ida")
    read(noted, lambda _: None)
    USER.reset(token)

    assert seen == {"ida"}
