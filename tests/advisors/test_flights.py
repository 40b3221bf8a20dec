"""Those who ask the same at once, when loops end; the rest is in test_exact_cache."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from reactivex import Observable, Subject
from reactivex.scheduler import EventLoopScheduler

from rxagent import Agent
from rxagent.advisors import exact_cache
from rxagent.advisors._flights import Flights, Land
from rxagent.caching import MemoryAnswers
from rxagent.errors import StreamCancelledError
from rxagent.operators import just
from rxagent.runtime import LoopScheduler
from rxagent.testing import Reply, ScriptedModel


async def nothing() -> None:
    return None


def close_at_once(loop: asyncio.AbstractEventLoop) -> None:
    loop.close()


def close_as_asyncio_run(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(nothing())


ENDS = pytest.mark.parametrize("end", [close_at_once, close_as_asyncio_run])


def agent_and_who_leads() -> tuple[Agent, asyncio.AbstractEventLoop]:
    """The first answer comes in an hour, by a timer of a loop; the others at once."""
    model = ScriptedModel(
        Reply(deltas=("late",), first_s=3_600), "yes", repeat_last=True
    )
    agent = Agent(model, advisors=[exact_cache(MemoryAnswers(), namespace="test")])
    loop = asyncio.new_event_loop()

    async def first() -> None:
        agent.stream("hello").subscribe()

    loop.run_until_complete(first())
    return agent, loop


@ENDS
def test_when_the_loop_of_the_first_one_ends_who_comes_later_asks(
    end: Callable[[asyncio.AbstractEventLoop], None],
) -> None:
    agent, loop = agent_and_who_leads()
    end(loop)

    async def later() -> str:
        async with asyncio.timeout(5):
            return (await agent.call("hello")).text

    assert asyncio.run(later()) == "yes"


@ENDS
def test_when_the_loop_of_the_first_one_ends_who_waits_on_another_asks(
    end: Callable[[asyncio.AbstractEventLoop], None],
) -> None:
    agent, loop = agent_and_who_leads()
    all_wait = threading.Event()

    async def text() -> str:
        return (await agent.call("hello")).text

    async def wait() -> list[str]:
        waiting = [asyncio.ensure_future(text()) for _ in range(2)]
        await asyncio.sleep(0)
        all_wait.set()
        async with asyncio.timeout(5):
            return await asyncio.gather(*waiting)

    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(asyncio.run, wait())
        assert all_wait.wait(5)
        end(loop)
        assert told.result() == ["yes", "yes"]


def test_after_a_fork_nobody_waits_for_who_stayed_in_the_parent() -> None:
    program = """
import os, threading
from rxagent import Agent
from rxagent.advisors import exact_cache
from rxagent.caching import MemoryAnswers
from rxagent.testing import Reply, ScriptedModel
model = ScriptedModel(Reply(deltas=("late",), first_s=3600), "yes")
agent = Agent(model, advisors=[exact_cache(MemoryAnswers(), namespace="test")])
thread = threading.Thread(target=agent.call("hello").run, daemon=True)
thread.start()
while not model.requests:
    pass
child = os.fork()
if child == 0:
    os._exit(0 if agent.call("hello").run().text == "yes" else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    subprocess.run(command, check=True, timeout=30)


@dataclass
class Passenger:
    """One who asks, and what was told; leads from a source that knows no loop."""

    flights: Flights[str, str]
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    asked: Subject[str] | None = None
    land: Land[str] | None = None
    told: list[str | type[Exception]] = field(
        default_factory=list[str | type[Exception]]
    )

    def board(self) -> Passenger:
        def lead(land: Land[str]) -> Observable[str]:
            self.asked, self.land = Subject(), land
            return self.asked

        self.flights.board("question", lead=lead, follow=just).subscribe(
            self.told.append,
            lambda error: self.told.append(type(error)),
            scheduler=LoopScheduler(self.loop),
        )
        self.turn()
        return self

    def turn(self) -> None:
        self.loop.run_until_complete(nothing())


def test_one_whose_loop_ends_before_its_turn_comes_hands_it_on() -> None:
    flights = Flights[str, str]()
    first, second, third = (Passenger(flights).board() for _ in range(3))
    assert second.asked is third.asked is None

    first.loop.close()
    second.loop.close()  # it leads, and would have begun in the next turn of its loop
    third.turn()

    assert second.asked is None
    assert third.asked is not None
    assert second.told == [StreamCancelledError]
    third.loop.close()


def test_one_whose_loop_ends_as_it_waits_is_told_and_waited_for_by_nobody() -> None:
    flights = Flights[str, str]()
    first, second, third = (Passenger(flights).board() for _ in range(3))

    second.loop.close()
    assert second.told == [StreamCancelledError]
    assert first.land is not None
    first.land("yes")
    third.turn()

    assert third.told == ["yes"]
    assert second.told == [StreamCancelledError]
    first.loop.close()
    third.loop.close()


def test_one_who_no_longer_leads_lands_nothing() -> None:
    """What it asks may go on in a thread, when its loop is closed."""
    flights = Flights[str, str]()
    first, second, third = (Passenger(flights).board() for _ in range(3))

    first.loop.close()
    second.turn()
    assert first.asked is not None
    assert first.land is not None
    first.asked.on_next("for the first")
    first.land("too late")
    first.asked.on_completed()
    third.turn()

    assert first.told == ["for the first"]
    assert second.asked is not None
    assert third.told == []
    assert second.land is not None
    second.land("yes")
    third.turn()
    assert third.told == ["yes"]
    second.loop.close()
    third.loop.close()


@pytest.mark.parametrize("lands", [True, False])
def test_one_whose_scheduler_has_ended_is_told_and_hands_on(lands: bool) -> None:
    flights = Flights[str, str]()
    first = Passenger(flights).board()
    ended, told = EventLoopScheduler(), list[object]()
    flights.board("question", lead=lambda _: Subject[str](), follow=just).subscribe(
        told.append, lambda error: told.append(type(error)), scheduler=ended
    )
    third = Passenger(flights).board()
    ended.dispose()

    assert first.land is not None
    if lands:
        first.land("yes")
    else:
        first.loop.close()
    third.turn()

    assert told == [StreamCancelledError]
    assert third.told == (["yes"] if lands else [])
    assert (third.asked is None) is lands
    first.loop.close()
    third.loop.close()


def test_one_who_was_served_takes_no_lock_when_its_loop_is_collected() -> None:
    """The collector runs anywhere, also where the lock is held."""
    flights = Flights[str, str]()
    first, second = (Passenger(flights).board() for _ in range(2))
    assert first.land is not None
    first.land("yes")

    def collect() -> None:
        with flights._lock:
            second.loop.close()

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(10)

    assert not thread.is_alive()
    first.loop.close()
