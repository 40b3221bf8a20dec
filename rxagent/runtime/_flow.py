from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any, TypeVar, cast, overload

from reactivex import Observable, abc

from rxagent.events import ChatEvent
from rxagent.operators import texts
from rxagent.runtime._block import block, run
from rxagent.runtime._iterate import iterate, last_of

__all__ = ["Flow"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")


class Flow(Observable[T_co]):
    """An observable with edges: read it from anywhere, in the way of the place.

    ``flow.run()`` blocks, in scripts and notebooks; ``await flow`` and ``async for``
    run on the running loop, with no thread; ``for item in flow`` blocks item by item;
    ``subscribe`` and ``pipe`` are RxPY's, and what ``pipe`` returns is a flow again.
    Cold: each of these is a run of its own.

    Items come one after the other.  Which thread calls a callback is not promised: it
    is that of the loop that feeds the stream, in a script not the caller's.

    Example:
        >>> from rxagent.operators import just
        >>> Flow.of(just("hello")).run()
        'hello'
    """

    @classmethod
    def of(cls, source: Observable[T_co]) -> Flow[T_co]:
        """Give ``source`` the edges of a flow."""
        return _Edges(source)

    # Narrower than RxPY's on purpose: what an operator makes has edges too.
    @overload  # type: ignore[override]
    def pipe(self) -> Flow[T_co]: ...
    @overload
    def pipe(self, op1: Callable[[Observable[T_co]], Observable[A]], /) -> Flow[A]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        /,
    ) -> Flow[B]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        op3: Callable[[Observable[B]], Observable[C]],
        /,
    ) -> Flow[C]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        op3: Callable[[Observable[B]], Observable[C]],
        op4: Callable[[Observable[C]], Observable[D]],
        /,
    ) -> Flow[D]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        op3: Callable[[Observable[B]], Observable[C]],
        op4: Callable[[Observable[C]], Observable[D]],
        op5: Callable[[Observable[D]], Observable[E]],
        /,
    ) -> Flow[E]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        op3: Callable[[Observable[B]], Observable[C]],
        op4: Callable[[Observable[C]], Observable[D]],
        op5: Callable[[Observable[D]], Observable[E]],
        op6: Callable[[Observable[E]], Observable[F]],
        /,
    ) -> Flow[F]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], Observable[A]],
        op2: Callable[[Observable[A]], Observable[B]],
        op3: Callable[[Observable[B]], Observable[C]],
        op4: Callable[[Observable[C]], Observable[D]],
        op5: Callable[[Observable[D]], Observable[E]],
        op6: Callable[[Observable[E]], Observable[F]],
        op7: Callable[[Observable[F]], Observable[G]],
        /,
    ) -> Flow[G]: ...
    def pipe(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *operators: Callable[[Any], Any]
    ) -> Any:
        """Apply operators from left to right, and keep the edges."""
        source: Any = self
        for operator in operators:
            source = operator(source)
        # A connectable or grouped observable has edges of its own, and needs them.
        is_plain = type(source) is Observable
        return Flow[Any].of(cast("Observable[Any]", source)) if is_plain else source

    def run(self, scheduler: abc.SchedulerBase | None = None) -> T_co:
        """Block until completion and return the last item."""
        return run(self, scheduler=scheduler)

    def text(self: Flow[ChatEvent]) -> Flow[str]:
        """Keep the text of the deltas; ``"".join(flow.text())`` is all of it.

        Its error is a `RetractedError` if text that was delivered becomes void.
        """
        return self.pipe(texts())

    def __iter__(self) -> Iterator[T_co]:
        return block(self)

    def __aiter__(self) -> AsyncIterator[T_co]:
        return iterate(self)

    def __await__(self) -> Generator[Any, None, T_co]:
        return last_of(self).__await__()

    def __repr__(self) -> str:
        return "<Flow, cold: read it by .run(), for, await, async for or .subscribe()>"


class _Edges(Flow[T_co]):
    """A source with edges.

    It has no observer of its own, which would be a call more for each item: whoever
    subscribes to it subscribes to the source.
    """

    def __init__(self, source: Observable[T_co]) -> None:
        super().__init__()
        self._source = source

    def subscribe(
        self,
        on_next: abc.ObserverBase[T_co] | abc.OnNext[T_co] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        return self._source.subscribe(
            on_next, on_error, on_completed, scheduler=scheduler
        )
