from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from rxagent.runtime import LoopEnd


class Listener:
    """Somebody who wants to know, and counts."""

    def __init__(self) -> None:
        self.heard = 0

    def hear(self) -> None:
        self.heard += 1


def test_it_tells_at_the_end_of_asyncio_run() -> None:
    listener = Listener()

    async def listen() -> None:
        LoopEnd(asyncio.get_running_loop(), listener.hear)
        await asyncio.sleep(0)
        assert listener.heard == 0

    asyncio.run(listen())
    assert listener.heard == 1


def _on_it(loop: asyncio.AbstractEventLoop, listen: Callable[[], LoopEnd]) -> LoopEnd:
    async def call() -> LoopEnd:
        return listen()

    return loop.run_until_complete(call())


def _off_it(loop: asyncio.AbstractEventLoop, listen: Callable[[], LoopEnd]) -> LoopEnd:
    end = listen()
    loop.run_until_complete(asyncio.sleep(0))
    return end


def _unseen(_: asyncio.AbstractEventLoop, listen: Callable[[], LoopEnd]) -> LoopEnd:
    return listen()


@pytest.mark.parametrize("where", [_on_it, _off_it, _unseen])
@pytest.mark.parametrize("stays", [True, False])
def test_it_tells_when_a_loop_is_closed_and_nothing_was_cancelled(
    where: Callable[[asyncio.AbstractEventLoop, Callable[[], LoopEnd]], LoopEnd],
    stays: bool,
) -> None:
    loop = asyncio.new_event_loop()
    listener = Listener()
    end = where(loop, lambda: LoopEnd(loop, listener.hear))
    if not stays:
        end.dispose()
    loop.close()
    assert listener.heard == int(stays)


def test_a_loop_that_is_closed_already_has_ended() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    listener = Listener()
    LoopEnd(loop, listener.hear)
    assert listener.heard == 1


def test_disposing_keeps_nobody_who_listened() -> None:
    async def listen() -> None:
        listener = Listener()
        end = LoopEnd(asyncio.get_running_loop(), listener.hear)
        kept = weakref.ref(listener)
        end.dispose()
        del listener
        gc.collect()
        assert kept() is None

    asyncio.run(listen())


def test_it_may_be_disposed_on_another_thread() -> None:
    listener = Listener()

    async def listen() -> None:
        end = LoopEnd(asyncio.get_running_loop(), listener.hear)
        thread = threading.Thread(target=end.dispose)
        thread.start()
        thread.join()

    asyncio.run(listen())
    assert listener.heard == 0
