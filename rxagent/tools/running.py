"""Running the function of a tool, whatever kind it is."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
)
from contextlib import AsyncExitStack
from functools import partial
from types import GeneratorType
from typing import TypeGuard

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    Disposable,
    SingleAssignmentDisposable,
)
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.errors import StreamCancelledError, ToolError
from rxagent.runtime import Sink, from_producer, iterate
from rxagent.tools.report import Report, ToolEvent
from rxagent.tools.threads import GeneratorSteps, in_thread
from rxagent.tools.tool import AnyTool

__all__ = ["run_tool"]

# Not for the model to see: the run ends with them.
_FATAL = (ToolError, StreamCancelledError)


def run_tool(
    tool: AnyTool,
    arguments: dict[str, object],
    report: Report,
    observer: abc.ObserverBase[ToolEvent],
    scheduler: abc.SchedulerBase | None,
) -> abc.DisposableBase:
    """Run ``tool`` for a subscription, once that can be disposed.

    Args:
        tool: What runs.
        arguments: Checked, by name, with the context if it takes one.
        report: Makes the events.
        observer: Gets the tool's start, its progress and its end.
        scheduler: Of the subscription.

    Returns:
        What stops it.
    """
    context = contextvars.copy_context()
    running = SingleAssignmentDisposable()

    def start() -> abc.DisposableBase:
        if tool.runs == "as_stream":
            return _subscribe(tool, arguments, report, observer, scheduler)

        async def produce(sink: Sink[ToolEvent]) -> None:
            await _run(tool, arguments, report, sink)

        return from_producer(produce).subscribe(observer, scheduler=scheduler)

    def begin(_: abc.SchedulerBase, __: object = None) -> None:
        observer.on_next(report.started())
        if not running.is_disposed:
            running.disposable = context.run(start)

    # On the trampoline of this thread, as `reactivex.of` does it: once whoever is
    # subscribing can dispose, so that who leaves at the start leaves no tool running.
    begun = CurrentThreadScheduler.singleton().schedule(begin)
    return CompositeDisposable(begun, running)


async def _run(
    tool: AnyTool,
    arguments: dict[str, object],
    report: Report,
    sink: Sink[ToolEvent],
) -> None:
    downstream_failed = False

    def progress(item: object) -> None:
        nonlocal downstream_failed
        try:
            sink.emit(report.progress(item))
        except BaseException:
            downstream_failed = True
            raise

    try:
        result = await _result(tool, arguments, progress, sink)
    except _FATAL:
        raise
    except SystemExit as error:
        # It would end the thread of the event loop, and everything that runs on it.
        raise ToolError(tool.name, f"tried to exit the program ({error})") from error
    except Exception as error:
        if downstream_failed:
            raise
        sink.emit(report.failed(error))  # the model sees it
    else:
        sink.emit(report.finished(result))


async def _result(
    tool: AnyTool,
    arguments: dict[str, object],
    progress: Callable[[object], None],
    sink: Sink[ToolEvent],
) -> object:
    body = partial(tool.function, **arguments)
    made: object = (
        body()
        if tool.runs == "on_loop"
        else await in_thread(lambda: _read_through(body()))
    )
    while inspect.isawaitable(made) and not _is_observable(made):
        made = await made
    items = _items(made)
    if items is None:
        return made
    result: object = None
    async with AsyncExitStack() as stack:
        if (aclose := getattr(items, "aclose", None)) is not None:
            stack.push_async_callback(aclose)
        async for result in items:
            progress(result)
            if sink.stopped:
                return None
            if sink.paused:
                await sink.resumed()
        if isinstance(items, GeneratorSteps) and items.returned is not None:
            return items.returned
    return result


def _read_through(made: object) -> object:
    """Read what a plain function left to be read, while its thread is there to do it.

    ``map`` and generator expressions are lists in waiting.  The generator of a function
    with ``yield``, that came through a wrapper, is not.
    """
    return [*made] if _is_unread(made) else made


def _items(made: object) -> AsyncIterator[object] | None:
    """The items that a function reports; ``None`` if it returned its result."""
    if _is_observable(made):
        return iterate(made)
    if _is_async_iterable(made):
        return aiter(made)
    if _is_generator(made):
        return GeneratorSteps(made)
    return None


def _is_observable(made: object) -> TypeGuard[Observable[object]]:
    return isinstance(made, Observable)


def _is_async_iterable(made: object) -> TypeGuard[AsyncIterable[object]]:
    return isinstance(made, AsyncIterable)


def _is_unread(made: object) -> TypeGuard[Iterator[object]]:
    if isinstance(made, GeneratorType):
        return made.gi_code.co_name == "<genexpr>"
    return isinstance(made, Iterator)


def _is_generator(made: object) -> TypeGuard[Generator[object, None, object]]:
    return isinstance(made, Generator)


def _subscribe(
    tool: AnyTool,
    arguments: dict[str, object],
    report: Report,
    observer: abc.ObserverBase[ToolEvent],
    scheduler: abc.SchedulerBase | None,
) -> abc.DisposableBase:
    """Call a function that returns an observable, and subscribe to that."""
    result: object = None
    downstream_failed = False

    def on_next(item: object) -> None:
        nonlocal result, downstream_failed
        result = item
        try:
            observer.on_next(report.progress(item))
        except BaseException:
            downstream_failed = True
            raise

    def on_error(error: Exception) -> None:
        # Sources give what a subscriber raises back to it, as if it were theirs.
        if downstream_failed or isinstance(error, _FATAL):
            observer.on_error(error)
        else:
            end(report.failed(error))

    def end(event: ToolEvent) -> None:
        observer.on_next(event)
        observer.on_completed()

    try:
        made = tool.function(**arguments)
    except Exception as error:  # noqa: BLE001 - the tool's, so the model sees it
        on_error(error)
        return Disposable()
    if not _is_observable(made):
        end(report.finished(made))  # the annotation promised too much
        return Disposable()
    return made.subscribe(
        on_next, on_error, lambda: end(report.finished(result)), scheduler=scheduler
    )
