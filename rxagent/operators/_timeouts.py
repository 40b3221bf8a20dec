from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)

from rxagent.errors import Clock, ModelTimeoutError
from rxagent.operators._clock import clock_of
from rxagent.patience import Timeouts

T = TypeVar("T")

_TICK_S = 1e-6  # no datetime is finer
_TOLD: dict[Clock, str] = {
    "first": "gave nothing within {:g} s; raise first_s if it may take longer to begin",
    "gap": "gave nothing for {:g} s; raise gap_s if it may pause longer",
    "turn": "was not done after {:g} s; raise turn_s if it may take longer",
}


def timeouts(
    *,
    first_s: float | None = None,
    gap_s: float | None = None,
    turn_s: float | None = None,
    provider: str = "",
    failures: Sequence[Exception] = (),
) -> Callable[[Observable[T]], Observable[T]]:  # as Operator, mypy would not infer T
    """Fail when a source takes too long: to begin, between two items, or in all.

    ::

        --a--b--------
        [ timeouts(gap_s=5) ]
        --a--b----#

    RxPY's ``timeout`` starts a timer for each item, and fails with a bare ``Exception``
    that does not tell the clocks apart.  Here an item costs a look at the time if
    ``gap_s`` is set, and a flag if not.

    Args:
        first_s: Longest wait for the first item, in seconds; ``None`` is no limit.
        gap_s: Longest wait for the next item; without ``first_s`` for the first, too.
            A source that a slow reader has paused gives nothing either.
        turn_s: Longest time to completion.
        provider: Named in the error; by default "the source".
        failures: Of earlier attempts, as they become known.  The last one when a clock
            runs out is the cause of the error, and told in it.

    Returns:
        An operator.  The clock that runs out first closes the source and is a
        `ModelTimeoutError`, with ``clock``, ``limit_s`` and ``delivered``.  Time is the
        subscription's scheduler's; if there is none, the running loop's.  Disposing
        stops the clocks.  With no clock set the operator is not there at all.

    Raises:
        ConfigurationError: At the call, if a limit is no number above 0.
    """
    limits = Timeouts(first_s=first_s, gap_s=gap_s, turn_s=turn_s)
    first, gap, turn = map(_or_inf, (limits.first_s, limits.gap_s, limits.turn_s))

    def operator(source: Observable[T]) -> Observable[T]:
        def subscribe(
            observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            emit = observer.on_next
            clock = clock_of(scheduler)
            upstream = SingleAssignmentDisposable()
            silence = SerialDisposable()
            whole = SingleAssignmentDisposable()
            heard = clock.now
            delivered = False

            def run_out(name: Clock, limit_s: float, *_: object) -> None:
                upstream.dispose()
                cause = failures[-1] if failures else None
                told = f"{provider or 'the source'} {_TOLD[name].format(limit_s)}"
                error = ModelTimeoutError(
                    f"{told}; the attempt before failed: {cause}" if cause else told,
                    clock=name,
                    limit_s=limit_s,
                    provider=provider,
                    delivered=delivered,
                )
                error.__cause__ = cause
                observer.on_error(error)

            def listen(*_: object) -> None:
                """Wait for what is left of a gap, or find that it is over."""
                left_s = gap - (clock.now - heard).total_seconds()
                if left_s > _TICK_S:
                    silence.disposable = clock.schedule_relative(left_s, listen)
                else:
                    run_out("gap", gap)

            def on_next(item: T) -> None:
                nonlocal heard, delivered
                if gap < inf:
                    heard = clock.now
                if not delivered:
                    delivered = True
                    if first < inf:
                        begin_gap()
                emit(item)

            def begin_gap() -> None:
                if gap < inf:
                    listen()
                else:
                    silence.dispose()

            if turn < inf:
                whole.disposable = clock.schedule_relative(
                    turn, partial(run_out, "turn", turn)
                )
            if first < inf:
                silence.disposable = clock.schedule_relative(
                    first, partial(run_out, "first", first)
                )
            else:
                begin_gap()
            upstream.disposable = source.subscribe(
                on_next, observer.on_error, observer.on_completed, scheduler=scheduler
            )
            return CompositeDisposable(upstream, silence, whole)

        return Observable(subscribe) if min(first, gap, turn) < inf else source

    return operator


def _or_inf(limit_s: float | None) -> float:
    return inf if limit_s is None else limit_s
