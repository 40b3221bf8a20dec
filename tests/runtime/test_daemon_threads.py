from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from rxagent.runtime import DaemonThreads


def test_no_more_run_than_there_are_threads() -> None:
    pool = DaemonThreads(2, name="test")
    both_run = threading.Barrier(3)
    third_ran = threading.Event()

    first = [pool.submit(both_run.wait, 10) for _ in range(2)]
    third = pool.submit(third_ran.set)

    assert not third_ran.is_set()  # the two threads wait for us
    both_run.wait(10)
    assert third.result(10) is None
    wait(first, 10)


def test_a_thread_is_a_daemon_with_a_name_and_ends() -> None:
    pool = DaemonThreads(1, name="test-daemon")
    thread = pool.submit(threading.current_thread).result(10)
    assert (thread.name, thread.daemon) == ("test-daemon", True)
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_raised_is_raised_where_it_is_awaited() -> None:
    def fails() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        DaemonThreads(1, name="test").submit(fails).result(10)


def test_shut_down_it_takes_no_more_and_may_drop_what_waits() -> None:
    pool = DaemonThreads(1, name="test")
    held, entered = threading.Event(), threading.Event()

    def hold() -> bool:
        entered.set()
        return held.wait(10)

    runs, waits = pool.submit(hold), pool.submit(int)
    assert entered.wait(10)

    pool.shutdown(cancel_futures=True)

    assert waits.cancelled()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(int)
    held.set()
    assert runs.result(10)


def test_shut_down_it_still_does_what_waits() -> None:
    pool = DaemonThreads(1, name="test")
    held = threading.Event()
    pool.submit(held.wait, 10)
    waits = pool.submit(int)
    pool.shutdown()
    held.set()
    assert waits.result(10) == 0
