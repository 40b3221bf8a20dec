from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable

import pytest
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import StreamCancelledError
from rxagent.runtime import Flow, Sink, from_async_iterable, from_producer, run

USER: contextvars.ContextVar[str] = contextvars.ContextVar("USER", default="nobody")


class Numbers:
    """An endless async generator that notes what happens to it."""

    def __init__(self, *, until: int = 10**9) -> None:
        self.started = 0
        self.closed = threading.Event()
        self._until = until

    async def __call__(self) -> AsyncIterator[int]:
        self.started += 1
        try:
            for number in range(self._until):
                await asyncio.sleep(0)
                yield number
        finally:
            self.closed.set()


def test_each_subscription_iterates_anew() -> None:
    numbers = Numbers(until=3)
    flow = Flow.of(from_async_iterable(numbers))

    assert numbers.started == 0
    assert [list(flow), list(flow)] == [[0, 1, 2], [0, 1, 2]]
    assert numbers.started == 2


def test_the_running_loop_is_used_with_no_thread() -> None:
    threads: set[int] = set()

    async def scenario() -> None:
        source = from_async_iterable(Numbers(until=3)).pipe(
            ops.do_action(lambda _: threads.add(threading.get_ident()))
        )
        await Flow.of(source)

    asyncio.run(scenario())

    assert threads == {threading.get_ident()}


def test_disposing_on_the_loop_closes_the_iterator_at_once() -> None:
    async def scenario() -> None:
        numbers = Numbers()
        seen: list[int] = []
        subscription = from_async_iterable(numbers).subscribe(seen.append)
        while len(seen) < 3:
            await asyncio.sleep(0)
        subscription.dispose()
        count = len(seen)
        for _ in range(5):
            await asyncio.sleep(0)
        assert numbers.closed.is_set()
        assert len(seen) == count

    asyncio.run(scenario())


def test_disposing_from_another_thread_closes_the_iterator() -> None:
    numbers = Numbers()
    started = threading.Event()
    subscription = from_async_iterable(numbers).subscribe(lambda _: started.set())

    assert started.wait(5)
    subscription.dispose()
    subscription.dispose()

    assert numbers.closed.wait(5)


def test_disposing_from_inside_on_next_closes_the_iterator() -> None:
    """The producer sees that it is stopped, and its clean-up may await."""
    cleaned = threading.Event()

    async def items() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    assert run(from_async_iterable(items).pipe(ops.take(2))) == 1
    assert cleaned.wait(5)


def test_disposing_again_leaves_the_clean_up_alone() -> None:
    async def scenario() -> None:
        cleaned = asyncio.Event()

        async def items() -> AsyncIterator[int]:
            try:
                yield 1
                await asyncio.Event().wait()
            finally:
                for _ in range(5):
                    await asyncio.sleep(0)
                cleaned.set()

        arrived = asyncio.Event()
        source = from_async_iterable(items)
        subscription = source.subscribe(lambda _: arrived.set())
        await arrived.wait()
        for _ in range(3):
            subscription.dispose()
            await asyncio.sleep(0)
        await asyncio.wait_for(cleaned.wait(), 5)

    asyncio.run(scenario())


def test_disposing_before_the_task_started_starts_nothing() -> None:
    async def scenario() -> None:
        numbers = Numbers()
        from_async_iterable(numbers).subscribe().dispose()
        for _ in range(3):
            await asyncio.sleep(0)
        assert numbers.started == 0

    asyncio.run(scenario())


def test_an_error_of_the_iterator_is_the_error_of_the_stream() -> None:
    broken = OSError("broken")

    async def items() -> AsyncIterator[int]:
        yield 1
        raise broken

    with pytest.raises(OSError, match="broken") as at:
        run(from_async_iterable(items))
    assert at.value is broken


def test_a_task_that_somebody_else_cancels_is_an_error_and_not_silence() -> None:
    async def scenario() -> list[Exception]:
        errors: list[Exception] = []
        from_async_iterable(Numbers()).subscribe(on_error=errors.append)
        await asyncio.sleep(0)
        [task] = asyncio.all_tasks() - {asyncio.current_task()}
        task.cancel()
        await asyncio.wait([task])
        return errors

    [error] = asyncio.run(scenario())
    assert isinstance(error, StreamCancelledError)


def test_sources_and_operators_see_the_subscribers_context_variables() -> None:
    async def items() -> AsyncIterator[str]:
        yield USER.get()

    def with_operator(text: str) -> str:
        return f"{text} {USER.get()}"

    token = USER.set("Ada")
    try:
        assert run(from_async_iterable(items).pipe(ops.map(with_operator))) == "Ada Ada"
    finally:
        USER.reset(token)
    assert run(from_async_iterable(items)) == "nobody"


def reported(subscribe: Callable[[Observable[int]], object]) -> list[str]:
    """What the loop is told while a stream of its own is subscribed to."""

    async def scenario() -> list[str]:
        found: list[str] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: found.append(repr(context["exception"]))
        )
        subscribe(from_async_iterable(Numbers(until=1)))
        for _ in range(9):
            await asyncio.sleep(0)
        return found

    return asyncio.run(scenario())


def fails(_: object) -> None:
    raise ValueError("the subscriber is broken")


def test_a_subscriber_that_fails_is_reported_and_not_swallowed() -> None:
    found = reported(lambda stream: stream.subscribe(fails, on_error=fails))

    assert found == ["ValueError('the subscriber is broken')"]


def test_an_operator_that_fails_is_reported_if_no_on_error_was_given() -> None:
    """Law 8."""
    found = reported(lambda stream: stream.pipe(ops.map(fails)).subscribe())

    assert found == ["ValueError('the subscriber is broken')"]


def test_a_producer_can_put_many_items_without_waiting() -> None:
    async def produce(sink: Sink[int]) -> None:
        for number in range(10_000):
            sink.emit(number)

    assert run(from_producer(produce).pipe(ops.count())) == 10_000
