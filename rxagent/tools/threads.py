"""Running plain code in worker threads, from the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Future

from rxagent.errors import ToolFailedError
from rxagent.runtime import DaemonThreads, call_on
from rxagent.tools.awaited import awaited
from rxagent.tools.job import Job, Outcome, Submit

__all__ = ["GeneratorSteps", "ThreadPool", "in_thread"]


async def in_thread(job: Job, began: Callable[[], None] | None = None) -> Outcome:
    """Run ``job`` in a thread of its own.

    Cancelling stops the waiting, not the function: no thread can be stopped.

    Args:
        job: Runs there.
        began: Called on the loop, when it begins.
    """
    return await ThreadPool(1).run(job, began)


class ThreadPool:
    """No more than so many threads for jobs, as they are in `DaemonThreads`.

    Args:
        size: How many jobs run at the same time.
    """

    def __init__(self, size: int) -> None:
        self._threads = DaemonThreads(size, name="rxagent-tool")

    async def run(self, job: Job, began: Callable[[], None] | None = None) -> Outcome:
        """Run ``job`` in one of the threads; cancelling stops the waiting alone.

        Args:
            job: Runs there.
            began: Called on the loop, when it begins.

        Raises:
            ToolFailedError: If the pool is closed before it begins.
        """
        loop = asyncio.get_running_loop()

        def work() -> Outcome:
            if began is not None:
                call_on(loop, began)
            return job()

        return await awaited(self._submit(work), job.tool)

    def close(self) -> None:
        """Take no more jobs and drop those that wait; those that run go on."""
        self._threads.shutdown(cancel_futures=True)

    def _submit(self, work: Callable[[], Outcome]) -> Future[Outcome]:
        try:
            return self._threads.submit(work)
        except RuntimeError:
            raise ToolFailedError(
                "the thread pool of the tools is closed", kind="environment"
            ) from None


class GeneratorSteps(AsyncIterator[object]):
    """An async iterator over a generator; every step is a job.

    Args:
        generator: Closed by `aclose`, or if a step of it still runs then, after that.
        tool: Whose it is.
        submit: Where its steps run.
        began: Called on the loop, when the first step begins.
    """

    def __init__(
        self,
        generator: Generator[object, None, object],
        *,
        tool: str,
        submit: Submit,
        began: Callable[[], None] | None,
    ) -> None:
        self.returned: object = None
        """What the generator returned."""
        self._generator = generator
        self._tool = tool
        self._submit = submit
        self._began = began
        self._stepping = threading.Lock()
        self._ended = self._abandoned = False

    async def __anext__(self) -> object:
        began, self._began = self._began, None
        item = await self._run(self._step, began)
        if self._ended:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close the generator where its steps run, but wait for no step that runs."""
        if not self._ended:
            self._abandoned = True
            closing = asyncio.ensure_future(self._run(self._close_if_abandoned))
            try:
                # Shielded: a second cancellation must not take the job off the queue.
                await asyncio.shield(closing)
            except asyncio.CancelledError:
                self._close_if_abandoned()  # the loop may end, and start no job
                raise

    async def _run(
        self, step: Callable[[], object], began: Callable[[], None] | None = None
    ) -> object:
        variables = contextvars.copy_context()
        job = Job(tool=self._tool, function=step, variables=variables, stays=True)
        return (await self._submit(job, began)).value

    def _step(self) -> object:
        try:
            with self._stepping:
                return next(self._generator)
        except StopIteration as stop:
            self._ended, self.returned = True, stop.value
            return None
        except StopAsyncIteration as error:
            # It would end whoever reads these steps, as if all were well.
            raise RuntimeError("the generator raised StopAsyncIteration") from error
        finally:
            self._close_if_abandoned()

    def _close_if_abandoned(self) -> None:
        # Whoever comes last closes it: a running generator refuses to be closed.
        if self._abandoned and self._stepping.acquire(blocking=False):
            try:
                self._generator.close()
            finally:
                self._stepping.release()
