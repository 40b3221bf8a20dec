"""What a check may say, and how it is asked."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    Disposable,
    SingleAssignmentDisposable,
)

from rxagent.operators._clock import clock_of
from rxagent.runtime import Sink, from_producer

__all__ = ["Answer", "OnFailure", "Verdict", "verdict_of"]

T = TypeVar("T")

Verdict: TypeAlias = bool | str
"""True lets pass.  False does not, and neither does a text: it says why not."""

Answer: TypeAlias = Verdict | Observable[Verdict] | Awaitable[Verdict]
"""What a check returns; of an observable the first item counts."""

OnFailure: TypeAlias = Literal["stop", "pass"]
"""What the verdict is if a check fails."""


def verdict_of(
    check: Callable[[T], Answer], asked: T, *, timeout_s: float | None
) -> Observable[Verdict]:
    """Ask ``check`` once for each subscription.

    Args:
        check: A plain one runs where it is subscribed, and answers before that returns;
            a coroutine runs on the loop of `rxagent.runtime.loop_for`.
        asked: What it is about.
        timeout_s: Longest wait for the verdict, in seconds, on the subscription's
            scheduler; a plain function cannot be stopped.

    Returns:
        A cold observable of one verdict.  Whatever else happens is its error: the check
        raises, says nothing, says something else, or takes too long.  Disposing stops
        the check, unless it is a plain function.
    """

    def subscribe(
        observer: abc.ObserverBase[Verdict],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        timer, answering = SingleAssignmentDisposable(), SingleAssignmentDisposable()
        waits = True

        def end(error: Exception) -> None:
            nonlocal waits
            waits = False
            observer.on_error(error)

        def hear(said: object) -> None:
            nonlocal waits
            if not isinstance(said, bool | str):
                kind = type(said).__name__
                end(TypeError(f"a check said {kind}; it says True, False or a text"))
                return
            waits = False
            observer.on_next(said)
            observer.on_completed()

        def run_out(*_: object) -> None:
            end(TimeoutError(f"a check said nothing within {timeout_s:g} s"))

        try:
            answer = check(asked)
        except Exception as error:  # noqa: BLE001 - a user's callback
            end(error)
            return Disposable()
        if not isinstance(answer, Observable):
            if not inspect.isawaitable(answer):
                hear(answer)
                return Disposable()
            answer = _awaited(answer)
        answering.disposable = answer.subscribe(
            hear,
            end,
            lambda: end(LookupError("a check completed, and said nothing")),
            scheduler=scheduler,
        )
        if waits and timeout_s is not None:
            clock = clock_of(scheduler)
            timer.disposable = clock.schedule_relative(timeout_s, run_out)
        return CompositeDisposable(timer, answering)

    return Observable(subscribe)


def _awaited(answer: Awaitable[Verdict]) -> Observable[Verdict]:
    async def produce(sink: Sink[Verdict]) -> None:
        sink.emit(await answer)

    def subscribe(
        observer: abc.ObserverBase[Verdict],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        def close() -> None:
            # Disposed before its task began: else Python warns that nobody awaited it.
            if (
                inspect.iscoroutine(answer)
                and inspect.getcoroutinestate(answer) == inspect.CORO_CREATED
            ):
                answer.close()

        running = from_producer(produce).subscribe(observer, scheduler=scheduler)
        return CompositeDisposable(running, Disposable(close))

    return Observable(subscribe)
