"""Guards that leave the model before their error is out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from rxagent.chain import around
from rxagent.errors import GuardError
from rxagent.events import ChatEvent
from rxagent.operators import just
from rxagent.requests import ChatRequest, Failure
from rxagent.types import Advisor, Exchange

__all__ = ["told_when_left"]


def told_when_left(advisor: Advisor, *, name: str) -> Advisor:
    """Let what is right of ``advisor`` know that it was stopped, and not left.

    `moderate` closes the model's stream at the first text that does not pass, and says
    so when the texts before it are out.  Meanwhile a memory on the way must not take
    that for a reader who has left, and keep what there was.

    Args:
        advisor: Around the rest.
        name: Of the guard; for the error.
    """

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        failure = Failure(request.failure)
        asked = just(replace(request, failure=failure))

        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            is_over = False  # at either end; what is disposed then was not stopped

            def over() -> None:
                nonlocal is_over
                is_over = True

            def stopped() -> None:
                if not is_over:
                    failure.is_now(GuardError(name, "has stopped the answer"))

            def on_error(error: Exception) -> None:
                if not is_over:
                    failure.is_now(error)
                over()
                observer.on_error(error)

            def on_completed() -> None:
                over()
                observer.on_completed()

            def rest(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
                return _watched(inner(requests), ended=over, disposed=stopped)

            running = asked.pipe(advisor(rest)).subscribe(
                observer.on_next, on_error, on_completed, scheduler=scheduler
            )
            return CompositeDisposable(Disposable(over), running)

        return Observable(subscribe)

    return around(handle)


def _watched(
    source: Observable[ChatEvent],
    *,
    ended: Callable[[], None],
    disposed: Callable[[], None],
) -> Observable[ChatEvent]:
    def subscribe(
        observer: abc.ObserverBase[ChatEvent],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        def on_error(error: Exception) -> None:
            ended()
            observer.on_error(error)

        def on_completed() -> None:
            ended()
            observer.on_completed()

        running = source.subscribe(
            observer.on_next, on_error, on_completed, scheduler=scheduler
        )
        return CompositeDisposable(Disposable(disposed), running)

    return Observable(subscribe)
