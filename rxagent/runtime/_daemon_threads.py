from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """So many threads at most; each ends when there is nothing to do.

    They are daemons, as those of ``concurrent.futures`` are not: what never returns, a
    tool or a database, does not keep the program from its end.

    Args:
        size: How many.
        name: Of each, for who looks at them.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._size = size
        self._name = name
        self._busy = 0
        self._is_shut = False
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Call a function in one of the threads.

        Raises:
            RuntimeError: If they are shut down.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError(f"the threads {self._name} are shut down")
            self._waiting.append((future, partial(fn, *args, **kwargs)))
            if self._busy < self._size:
                self._busy += 1
                threading.Thread(
                    target=self._main, name=self._name, daemon=True
                ).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more functions.  Nobody waits for those that run.

        Args:
            wait: Not heeded: a function that never returns would be waited for.
            cancel_futures: Drop those that have not begun.
        """
        dropped: list[Future[Any]] = []
        with self._lock:
            self._is_shut = True
            if cancel_futures:
                dropped = [future for future, _ in self._waiting]
                self._waiting.clear()
        for future in dropped:
            future.cancel()

    def _main(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                future, work = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                _settle(future, work)
            del future, work  # while it waits for the lock it keeps nobody's values


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
