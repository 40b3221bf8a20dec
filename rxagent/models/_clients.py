"""HTTP clients that close by themselves, one for each event loop."""

from __future__ import annotations

import asyncio
import ssl

import httpx

from rxagent.runtime import PerLoop

__all__ = ["Clients"]

# httpcore counts all its connections for each idle one, so few are kept alive.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


class Clients:
    """The clients of one provider.

    Args:
        secure: Whether it is reached over TLS.
    """

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure
        self._clients = PerLoop(httpx.AsyncClient.aclose)

    async def of_loop(self) -> httpx.AsyncClient:
        """The client of the running loop."""
        if (client := self._clients.here()) is not None:
            return client
        verify = await self._certificates()
        # Another request may have been faster; then this one makes none.
        return await self._clients.opened(
            lambda: httpx.AsyncClient(limits=_LIMITS, verify=verify, mounts=_NO_PROXY)
        )

    async def _certificates(self) -> ssl.SSLContext | bool:
        # Loading them takes a tenth of a second, and no loop may stand still that long.
        # Plain HTTP needs none, as redirects are not followed.
        if not self._secure:
            return False
        return await asyncio.to_thread(httpx.create_ssl_context)
