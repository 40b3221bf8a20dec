"""The executors that there are."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar
from uuid import uuid4

from reactivex import Observable

from rxagent.errors import ConfigurationError, ToolError, ToolFailedError
from rxagent.tools.awaited import awaited
from rxagent.tools.executor import Answer, Executor
from rxagent.tools.job import Job, Outcome, Submit
from rxagent.tools.merged import merged
from rxagent.tools.parcel import pack, run_anywhere, run_packed, unpack
from rxagent.tools.report import ToolEvent
from rxagent.tools.rules import check_count, check_seconds
from rxagent.tools.threads import ThreadPool, in_thread

__all__ = ["ThreadsExecutor", "concurrent", "futures", "sequential", "threads"]

P = ParamSpec("P")
T = TypeVar("T")


def sequential(*, timeout_s: float | None = None) -> Executor:
    """Run calls one after the other, and plain functions where the stream runs.

    For functions that return at once: no thread is involved, and no stream on the same
    loop goes on meanwhile, but between two items of a generator.

    Args:
        timeout_s: Longest run of a tool that declares none, in seconds.  A plain
            function blocks its own clock; of a generator it is looked at between items.

    Returns:
        An executor.
    """
    return _Executor(_here, 1, timeout_s)


def concurrent(*, max_concurrency: int = 8, timeout_s: float | None = None) -> Executor:
    """Run calls at once, and plain functions in threads of their own.

    No pool is shared, so slow tools keep nobody else's from running.

    Args:
        max_concurrency: How many run at the same time.
        timeout_s: Longest run of a tool that declares none, in seconds.

    Returns:
        An executor.
    """
    return _Executor(in_thread, max_concurrency, timeout_s)


def threads(
    *, max_workers: int | None = None, timeout_s: float | None = None
) -> ThreadsExecutor:
    """Run calls at once, and plain functions in a thread pool of its own.

    Args:
        max_workers: How many functions run at the same time, whichever turns they are
            of; by default one for each processor.
        timeout_s: Longest run of a tool that declares none, in seconds.  A function
            that never returns keeps its thread for good, so give a small pool one.

    Returns:
        An executor that is closed by `close`, or at the end of a ``with`` block.
    """
    workers = (os.cpu_count() or 1) if max_workers is None else max_workers
    check_count("max_workers", workers, least=1)
    return ThreadsExecutor(workers, timeout_s)


def futures(
    executor: FuturesExecutor,
    *,
    max_concurrency: int = 32,
    timeout_s: float | None = None,
) -> Executor:
    """Run calls at once, and plain functions in any ``concurrent.futures`` executor.

    A process pool or a cluster gets the function of the tool and its arguments by
    pickle: the tool must be one that a module shows under its name.  A `ToolContext`
    travels with the values of the context; what the tool writes there comes back, what
    it reports does not.  Context variables stay here, and async tools run on the loop.

    Generators are stepped in threads of this process.

    Args:
        executor: Yours: it is never closed.
        max_concurrency: How many calls are handed over at the same time.
        timeout_s: Longest run of a tool that declares none, in seconds, waiting for a
            worker included.

    Returns:
        An executor.

    Raises:
        ConfigurationError: If ``executor`` is none, or a number makes no sense.
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise ConfigurationError(
            f"futures takes an executor of concurrent.futures, not {executor!r}"
        )
    return _Executor(partial(_in_future, executor), max_concurrency, timeout_s)


@dataclass(frozen=True, slots=True)
class _Executor:
    """Runs calls at once, up to a number, and functions wherever ``submit`` does.

    Raises:
        ConfigurationError: If a number makes no sense.
    """

    submit: Submit
    max_concurrency: int
    timeout_s: float | None

    def __post_init__(self) -> None:
        check_seconds("timeout_s", self.timeout_s)
        check_count("max_concurrency", self.max_concurrency, least=1)

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        events = [answer.start(self.submit) for answer in answers]
        if len(events) == 1:
            return events[0]
        alone = any(answer.serial for answer in answers)
        return merged(events, max_concurrency=1 if alone else self.max_concurrency)


class ThreadsExecutor:
    """The executor of `threads`, which owns its pool.

    Args:
        max_workers: How many functions run at the same time.
        timeout_s: Longest run of a tool that declares none, in seconds.
    """

    def __init__(self, max_workers: int, timeout_s: float | None) -> None:
        self._pool = ThreadPool(max_workers)
        self._executor = _Executor(self._pool.run, max_workers, timeout_s)

    @property
    def timeout_s(self) -> float | None:
        """Longest run of a tool that declares none, in seconds."""
        return self._executor.timeout_s

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        """Return the events of all answers."""
        return self._executor(answers)

    def close(self) -> None:
        """Take no more calls; those that run go on.  Closing again does nothing."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


async def _here(job: Job, began: Callable[[], None] | None) -> Outcome:
    if job.stays:
        # Between two steps of a generator: its clock may run out, or somebody leave.
        await asyncio.sleep(0)
    if began is not None:
        began()
    return job()


async def _in_future(
    executor: FuturesExecutor, job: Job, began: Callable[[], None] | None
) -> Outcome:
    if job.stays:
        return await in_thread(job, began)
    if began is not None:
        began()
    if isinstance(executor, ProcessPoolExecutor):
        future = _submitted(executor, job, run_packed, job.tool, pack(job))
    else:
        # A cluster takes equal calls for one, unless something makes them differ.
        future = _submitted(executor, job, run_anywhere, job, uuid4().hex)
    return unpack(job.tool, await awaited(future, job.tool))


def _submitted(
    executor: FuturesExecutor,
    job: Job,
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Future[T]:
    # In a copy: what the executor starts for itself must not keep the caller's.
    variables = contextvars.copy_context()
    try:
        return variables.run(executor.submit, function, *args, **kwargs)
    except RuntimeError as error:
        raise ToolFailedError(
            f"the executor takes no more calls: {error}", kind="environment"
        ) from error
    except Exception as error:
        raise ToolError(
            job.tool, f"cannot be given to the executor: {error}"
        ) from error
