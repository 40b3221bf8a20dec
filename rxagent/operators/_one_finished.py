from __future__ import annotations

from collections.abc import Callable

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.errors import AdvisorError
from rxagent.events import ChatEvent, Finished
from rxagent.types import Operator


def _ignored(_: Exception) -> None:
    return None


def one_finished(
    name: str, *, failed: Callable[[Exception], None] = _ignored
) -> Operator[ChatEvent, ChatEvent]:
    """Hold a stream to the grammar: exactly one `Finished`, and it is last.

    ::

        --a--b--|
        [ one_finished("me") ]
        --a--b--#

    Args:
        name: Whose answer it is; for the error.
        failed: Told of an error before anybody else is, and before the source is
            disposed.

    Returns:
        An operator.  What comes after `Finished`, or completion without it, is an
        `AdvisorError`.
    """

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            emit = observer.on_next
            finished = False
            upstream = SingleAssignmentDisposable()

            def on_error(error: Exception) -> None:
                failed(error)
                observer.on_error(error)

            def on_next(event: ChatEvent) -> None:
                nonlocal finished
                if finished:
                    on_error(
                        AdvisorError(name, f"went on after Finished, with {event!r}")
                    )
                    return
                finished = isinstance(event, Finished)
                emit(event)

            def on_completed() -> None:
                if finished:
                    observer.on_completed()
                else:
                    on_error(AdvisorError(name, "completed without a Finished event"))

            upstream.disposable = source.subscribe(
                on_next, on_error, on_completed, scheduler=scheduler
            )
            return upstream

        return Observable(subscribe)

    return operator
