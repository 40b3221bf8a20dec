from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable

from rxagent.errors import ModelError
from rxagent.operators._clock import clock_of
from rxagent.patience import RetryPolicy

T = TypeVar("T")

_log = logging.getLogger("rxagent.operators.retry_backoff")


def retry_backoff(
    policy: RetryPolicy = RetryPolicy(), *, random: Callable[[], Random] = Random
) -> Callable[[Observable[T]], Observable[T]]:  # as Operator, mypy would not infer T
    """Subscribe again after an error that may pass, later each time.

    ::

        --#                               the next time --a-b|
        [ retry_backoff() ]               waits 3
        -------a-b|

    Models do this themselves, each as its ``retry`` says.  Above a chain it would run
    every advisor again, and a memory would store the question twice.

    RxPY's ``retry`` waits for nothing, and repeats what was delivered.

    Args:
        policy: How often and how late; see `RetryPolicy`.
        random: Makes the source of chance of one subscription.

    Returns:
        An operator.  An error passes as it is, with the number of ``attempts`` on it,
        if it is no `ModelError`, is not ``retryable``, comes after an item, is the last
        that ``policy`` allows, or wants a longer wait than that.  Waiting takes the
        subscription's scheduler; if there is none, the running loop.  Disposing while
        it waits asks no more.  Each retry is logged, level info.  With
        ``max_retries=0`` the operator is not there at all.
    """

    def operator(source: Observable[T]) -> Observable[T]:
        def subscribe(
            observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            emit = observer.on_next
            delays: _Delays | None = None  # made at the first error: a seed costs much
            current = SerialDisposable()
            attempts = 0
            delivered = False

            def start(_: object = None, __: object = None) -> None:
                nonlocal attempts
                attempts += 1
                # In its slot before it is subscribed: it may fail while it is.
                slot = SingleAssignmentDisposable()
                current.disposable = slot
                slot.disposable = source.subscribe(
                    on_next, on_error, observer.on_completed, scheduler=scheduler
                )

            def on_next(item: T) -> None:
                nonlocal delivered
                delivered = True
                emit(item)

            def on_error(error: Exception) -> None:
                nonlocal delays
                if not isinstance(error, ModelError):
                    observer.on_error(error)
                    return
                error.attempts = attempts
                delays = delays or _Delays(policy, random())
                may_pass = error.retryable and not (delivered or error.delivered)
                delay_s = delays.next(error) if may_pass else None
                if delay_s is None:
                    observer.on_error(error)
                    return
                _log.info("asking again in %g s: %s", round(delay_s, 2), error)
                try:
                    if policy.on_retry is not None:
                        policy.on_retry(error, delay_s)
                except Exception as broken:  # noqa: BLE001 - a user's callback
                    observer.on_error(broken)
                    return
                current.disposable = clock_of(scheduler).schedule_relative(
                    delay_s, start
                )

            start()
            return current

        return Observable(subscribe) if policy.max_retries else source

    return operator


class _Delays:
    """The waits of one subscription, with full jitter: from nothing to a bound.

    Source: Marc Brooker, Exponential Backoff And Jitter, AWS Architecture Blog.
    """

    def __init__(self, policy: RetryPolicy, random: Random) -> None:
        self._policy = policy
        self._random = random
        self._left = policy.max_retries
        self._bound_s = policy.base_s

    def next(self, error: ModelError) -> float | None:
        """Seconds to wait after ``error``, or ``None`` to give up."""
        cap_s = self._policy.cap_s
        wanted_s = error.retry_after_s
        if not self._left or (wanted_s is not None and wanted_s > cap_s):
            return None
        self._left -= 1
        bound_s = min(self._bound_s, cap_s)
        self._bound_s = bound_s * self._policy.factor
        return self._random.uniform(0, bound_s) if wanted_s is None else wanted_s
