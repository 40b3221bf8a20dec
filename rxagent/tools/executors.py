"""The executors that there are."""

from __future__ import annotations

import asyncio
import contextvars
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from reactivex import Observable

from rxagent.errors import ConfigurationError, ToolError, ToolFailedError
from rxagent.runtime import call_on
from rxagent.tools.executor import Answer, Executor
from rxagent.tools.job import Job, Outcome, Submit
from rxagent.tools.merged import merged
from rxagent.tools.report import ToolEvent
from rxagent.tools.rules import check_seconds
from rxagent.tools.threads import in_thread

__all__ = ["ThreadsExecutor", "concurrent", "futures", "sequential", "threads"]


def sequential(*, timeout_s: float | None = None) -> Executor:
    """Run calls one after the other, and plain functions where the stream runs.

    For functions that return at once: no thread is involved, and no stream on the same
    loop goes on meanwhile.

    Args:
        timeout_s: Longest run of a tool that declares none, in seconds.  A plain
            function blocks its own clock.

    Returns:
        An executor.
    """
    return _Executor(_here, 1, timeout_s)


def concurrent(*, max_concurrency: int = 8, timeout_s: float | None = None) -> Executor:
    """Run calls at once, and plain functions in the worker threads of the loop.

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
        max_workers: How many calls run at the same time; by default one for each
            processor.
        timeout_s: Longest run of a tool that declares none, in seconds.  A function
            that never returns keeps its thread for good, so give a small pool one.

    Returns:
        An executor that is closed by `close`, or at the end of a ``with`` block.
    """
    return ThreadsExecutor(max_workers or os.cpu_count() or 1, timeout_s)


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

    Args:
        executor: Yours: it is never closed.
        max_concurrency: How many calls are handed over at the same time.
        timeout_s: Longest run of a tool that declares none, in seconds, waiting for a
            worker included.

    Returns:
        An executor.
    """
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
        if self.max_concurrency < 1:
            raise ConfigurationError(
                f"at least 1 call must run at a time, not {self.max_concurrency}"
            )

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        events = [answer.start(self.submit) for answer in answers]
        if len(events) == 1:
            return events[0]
        alone = any(answer.serial for answer in answers)
        return merged(events, max_concurrency=1 if alone else self.max_concurrency)


class ThreadsExecutor:
    """The executor of `threads`, which owns its pool.

    Args:
        max_workers: How many calls run at the same time.
        timeout_s: Longest run of a tool that declares none, in seconds.
    """

    def __init__(self, max_workers: int, timeout_s: float | None) -> None:
        self._executor = _Executor(self._submit, max_workers, timeout_s)
        self._pool = ThreadPoolExecutor(max_workers, thread_name_prefix="rxagent-tool")
        self._is_closed = False

    @property
    def timeout_s(self) -> float | None:
        """Longest run of a tool that declares none, in seconds."""
        return self._executor.timeout_s

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        """Return the events of all answers."""
        return self._executor(answers)

    def close(self) -> None:
        """Take no more calls; those that run go on.  Closing again does nothing."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def _submit(self, job: Job, began: Callable[[], None] | None) -> Outcome:
        if self._is_closed:
            raise ToolFailedError(
                "the thread pool of the tools is closed", kind="environment"
            )
        return await in_thread(job, began, pool=self._pool)


async def _here(job: Job, began: Callable[[], None] | None) -> Outcome:
    if began is not None:
        began()
    return job()


async def _in_future(
    executor: FuturesExecutor, job: Job, began: Callable[[], None] | None
) -> Outcome:
    if began is not None:
        began()
    if isinstance(executor, ProcessPoolExecutor):
        _check_pickles(job)
    try:
        # In a copy: what the executor starts for itself must not keep the caller's.
        future = contextvars.copy_context().run(executor.submit, job)
    except RuntimeError as error:
        raise ToolFailedError(
            f"the executor takes no more calls: {error}", kind="environment"
        ) from error
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    future.add_done_callback(lambda _: call_on(loop, ended.set))
    try:
        await ended.wait()
    except asyncio.CancelledError:
        future.cancel()
        raise
    # Not by `wrap_future`: its CancelledError would look like ours.
    if future.cancelled():
        raise ToolFailedError("the executor dropped the call", kind="environment")
    return future.result()


def _check_pickles(job: Job) -> None:
    try:
        pickle.dumps(job)
    except Exception as error:
        name = getattr(job.function, "__qualname__", repr(job.function))
        raise ToolError(
            name,
            f"cannot go to another process: {error}; its function must stand in a "
            "module, and its arguments and context must be values that pickle",
        ) from error
