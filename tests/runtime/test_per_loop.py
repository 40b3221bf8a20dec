from __future__ import annotations

import asyncio
import gc

from rxagent.runtime import PerLoop


class Client:
    """Something that has to be closed, on its own loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_closed = False

    async def close(self) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.is_closed = True


def test_each_loop_has_one_and_closes_it_at_its_end() -> None:
    clients = PerLoop(Client.close)

    async def use() -> Client:
        assert clients.here() is None
        first = await clients.opened(Client)
        assert await clients.opened(Client) is first
        assert clients.here() is first
        assert not first.is_closed
        return first

    first, second = asyncio.run(use()), asyncio.run(use())

    assert first is not second
    assert first.is_closed
    assert second.is_closed


def test_what_opens_at_once_opens_once() -> None:
    clients = PerLoop(Client.close)

    async def use() -> int:
        found = await asyncio.gather(*(clients.opened(Client) for _ in range(5)))
        return len({*map(id, found)})

    assert asyncio.run(use()) == 1


def test_they_close_with_their_owner_on_a_loop_that_goes_on() -> None:
    async def use() -> Client:
        clients = PerLoop(Client.close)
        client = await clients.opened(Client)
        del clients
        gc.collect()
        while not client.is_closed:
            await asyncio.sleep(0)
        return client

    assert asyncio.run(use()).is_closed
