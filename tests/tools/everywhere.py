"""Every executor that there is, open for a test."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

from distributed import Client, LocalCluster

from rxagent.tools import Executor, concurrent, futures, sequential, threads


@contextmanager
def spawned(max_workers: int = 2) -> Generator[ProcessPoolExecutor]:
    """A process pool that forks nothing: there are threads."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers, mp_context=spawn) as pool:
        yield pool


@contextmanager
def dask(*, processes: bool) -> Generator[Executor]:
    """A cluster on this machine alone, with no port that is known."""
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1,
            threads_per_worker=2,
            processes=processes,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield futures(client.get_executor())


@contextmanager
def _sequential() -> Generator[Executor]:
    yield sequential()


@contextmanager
def _concurrent() -> Generator[Executor]:
    yield concurrent()


@contextmanager
def _threads() -> Generator[Executor]:
    with threads(max_workers=3) as executor:
        yield executor


@contextmanager
def _thread_futures() -> Generator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield futures(pool)


@contextmanager
def _processes() -> Generator[Executor]:
    with spawned() as pool:
        yield futures(pool)


def _dask_threads() -> AbstractContextManager[Executor]:
    return dask(processes=False)


def _dask_processes() -> AbstractContextManager[Executor]:
    return dask(processes=True)


OPEN: dict[str, Callable[[], AbstractContextManager[Executor]]] = {
    "sequential": _sequential,
    "concurrent": _concurrent,
    "threads": _threads,
    "thread futures": _thread_futures,
    "processes": _processes,
    "dask threads": _dask_threads,
    "dask processes": _dask_processes,
}
IN_PROCESS = ("sequential", "concurrent", "threads", "thread futures")
