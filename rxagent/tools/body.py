"""Running the function of a tool once, whatever kind it is."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
)
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeGuard

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxagent.context import Write
from rxagent.errors import StreamCancelledError, ToolError
from rxagent.runtime import Sink, from_producer, iterate
from rxagent.tools.job import Job, Submit, exit_error
from rxagent.tools.threads import GeneratorSteps
from rxagent.tools.tool import AnyTool

__all__ = ["Began", "BodyEvent", "Raised", "Reported", "Returned", "run_body"]

# Not for the model to see: the run ends with them.
_FATAL = (ToolError, StreamCancelledError)


@dataclass(frozen=True, slots=True)
class Began:
    """The function runs; before that it waited for its turn."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The function reports progress."""

    value: object


@dataclass(frozen=True, slots=True)
class Returned:
    """The function returned, and wrote elsewhere what ``writes`` holds."""

    value: object
    writes: tuple[Write, ...] | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """The function raised."""

    error: Exception


BodyEvent: TypeAlias = Began | Reported | Returned | Raised


def run_body(
    tool: AnyTool, arguments: dict[str, object], submit: Submit, *, timed: bool
) -> Observable[BodyEvent]:
    """Run the function of ``tool`` once for each subscription.

    Args:
        tool: Whose function it is.
        arguments: Checked, by name.
        submit: Where a plain function runs.
        timed: Whether to tell when it begins.

    Returns:
        A cold observable: `Began` if ``timed``, any number of `Reported`, then
        `Returned` or `Raised`.  Its error is what is not for the model to see.
        Disposing cancels async code and abandons what runs elsewhere.
    """
    if tool.runs == "as_stream":
        return _stream(tool, arguments, timed=timed)

    async def produce(sink: Sink[BodyEvent]) -> None:
        await _run(tool, arguments, submit, sink, timed=timed)

    return from_producer(produce)


async def _run(
    tool: AnyTool,
    arguments: dict[str, object],
    submit: Submit,
    sink: Sink[BodyEvent],
    *,
    timed: bool,
) -> None:
    downstream_failed = False

    def emit(event: BodyEvent) -> None:
        nonlocal downstream_failed
        try:
            sink.emit(event)
        except BaseException:
            downstream_failed = True
            raise

    try:
        result = await _result(tool, arguments, submit, emit, sink, timed=timed)
    except _FATAL:
        raise
    except SystemExit as error:
        raise exit_error(tool.name, error) from error
    except Exception as error:
        if downstream_failed:
            raise
        sink.emit(Raised(error))
    else:
        sink.emit(result)


async def _result(
    tool: AnyTool,
    arguments: dict[str, object],
    submit: Submit,
    emit: Callable[[BodyEvent], None],
    sink: Sink[BodyEvent],
    *,
    timed: bool,
) -> Returned:
    writes: tuple[Write, ...] | None = None

    def begin() -> None:
        emit(Began())

    began = begin if timed else None
    if tool.runs == "on_loop":
        made = tool.function(**arguments)  # nothing of it runs yet
        if began is not None and not _is_generator(made):
            began()
            began = None
    else:
        job = Job(
            tool=tool.name,
            function=tool.function,
            arguments=arguments,
            variables=contextvars.copy_context(),
        )
        outcome = await submit(job, began)
        made, writes, began = outcome.value, outcome.writes, None
    while inspect.isawaitable(made) and not _is_observable(made):
        made = await made
    steps = partial(GeneratorSteps, tool=tool.name, submit=submit, began=began)
    items = _items(made, steps)
    if items is None:
        return Returned(made, writes)
    result: object = None
    async with AsyncExitStack() as stack:
        if (aclose := getattr(items, "aclose", None)) is not None:
            stack.push_async_callback(aclose)
        async for result in items:
            emit(Reported(result))
            if sink.stopped:
                return Returned(None)
            if sink.paused:
                await sink.resumed()
        if isinstance(items, GeneratorSteps) and items.returned is not None:
            return Returned(items.returned, writes)
    return Returned(result, writes)


def _items(
    made: object, steps: Callable[[Generator[object, None, object]], GeneratorSteps]
) -> AsyncIterator[object] | None:
    """The items that a function reports; ``None`` if it returned its result."""
    if _is_observable(made):
        return iterate(made)
    if _is_async_iterable(made):
        return aiter(made)
    if _is_generator(made):
        return steps(made)
    return None


def _is_observable(made: object) -> TypeGuard[Observable[object]]:
    return isinstance(made, Observable)


def _is_async_iterable(made: object) -> TypeGuard[AsyncIterable[object]]:
    return isinstance(made, AsyncIterable)


def _is_generator(made: object) -> TypeGuard[Generator[object, None, object]]:
    return isinstance(made, Generator)


def _stream(
    tool: AnyTool, arguments: dict[str, object], *, timed: bool
) -> Observable[BodyEvent]:
    """Call a function that returns an observable, and subscribe to that."""

    def subscribe(
        observer: abc.ObserverBase[BodyEvent],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        result: object = None
        downstream_failed = False

        def emit(event: BodyEvent) -> None:
            nonlocal downstream_failed
            try:
                observer.on_next(event)
            except BaseException:
                downstream_failed = True
                raise

        def on_next(item: object) -> None:
            nonlocal result
            result = item
            emit(Reported(item))

        def on_error(error: Exception) -> None:
            # Sources give what a subscriber raises back to it, as if it were theirs.
            if downstream_failed or isinstance(error, _FATAL):
                observer.on_error(error)
            else:
                end(Raised(error))

        def end(event: BodyEvent) -> None:
            observer.on_next(event)
            observer.on_completed()

        if timed:
            emit(Began())
        try:
            made = tool.function(**arguments)
        except SystemExit as error:
            on_error(exit_error(tool.name, error))
            return Disposable()
        except Exception as error:  # noqa: BLE001 - the tool's, so the model sees it
            on_error(error)
            return Disposable()
        if not _is_observable(made):
            end(Returned(made))  # the annotation promised too much
            return Disposable()
        return made.subscribe(
            on_next, on_error, lambda: end(Returned(result)), scheduler=scheduler
        )

    return Observable(subscribe)
