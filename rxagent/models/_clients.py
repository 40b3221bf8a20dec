"""HTTP clients that close by themselves, one for each event loop."""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx

__all__ = ["Clients"]

# httpcore counts all its connections for each idle one, so few are kept alive.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
_TURNS = 10  # of a loop; more than it takes to end


class Clients:
    """The clients of one provider.

    Args:
        secure: Whether it is reached over TLS.
    """

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._lifetimes: dict[
            asyncio.AbstractEventLoop, AsyncGenerator[httpx.AsyncClient]
        ] = {}
        # Held from outside until then: sockets that are garbage together with this
        # object would be lost before anything could close them.
        weakref.finalize(self, _end_soon, self._lifetimes).atexit = False

    async def of_loop(self) -> httpx.AsyncClient:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            verify = await self._certificates()
            # Another request may have been faster; from here on nothing is awaited.
            if loop not in self._clients:
                for closed in [each for each in self._clients if each.is_closed()]:
                    del self._clients[closed], self._lifetimes[closed]
                lifetime = _lifetime(
                    httpx.AsyncClient(limits=_LIMITS, verify=verify, mounts=_NO_PROXY)
                )
                self._lifetimes[loop] = lifetime
                self._clients[loop] = await anext(lifetime)
        return self._clients[loop]

    async def _certificates(self) -> ssl.SSLContext | bool:
        # Loading them takes a tenth of a second, and no loop may stand still that long.
        # Plain HTTP needs none, as redirects are not followed.
        if not self._secure:
            return False
        return await asyncio.to_thread(httpx.create_ssl_context)


def _end_soon(
    lifetimes: dict[asyncio.AbstractEventLoop, AsyncGenerator[httpx.AsyncClient]],
) -> None:
    for loop, lifetime in lifetimes.items():
        with suppress(RuntimeError):  # the loop is closed, and its client with it
            loop.call_soon_threadsafe(_hold, loop, lifetime, _TURNS)
    lifetimes.clear()


def _hold(
    loop: asyncio.AbstractEventLoop,
    lifetime: AsyncGenerator[httpx.AsyncClient],
    turns: int,
) -> None:
    """Keep ``lifetime`` for some turns: the loop may end with the model, right now.

    It then cancels every task, also one that closes a client, and after that closes the
    generators that are still there.
    """
    if turns > 0:
        loop.call_soon(_hold, loop, lifetime, turns - 1)


async def _lifetime(client: httpx.AsyncClient) -> AsyncGenerator[httpx.AsyncClient]:
    """Keep ``client`` open for as long as this generator lives.

    A loop closes its unfinished async generators when it ends (``asyncio.run`` and the
    portal ask it to), and finishes one that is garbage collected.  So a client closes
    with its loop or with its model, whichever goes first, and nobody has to remember.
    """
    try:
        yield client
    finally:
        await client.aclose()
