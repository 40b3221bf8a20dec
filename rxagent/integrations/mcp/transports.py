"""Ways to an MCP server."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

import anyio
import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from rxagent.integrations.mcp.failures import refused

if TYPE_CHECKING:
    # The SDK shows these types in no public place.
    from mcp.client._transport import ReadStream, TransportStreams

    Incoming: TypeAlias = ReadStream[SessionMessage | Exception]

__all__ = ["over_http", "over_stdio", "watched"]

# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
_REFUSED = (401, 403, 407)


def over_stdio(
    command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | Path | None
) -> Transport:
    """Start a process and talk to it; what it writes to stderr is not hidden."""
    parameters = StdioServerParameters(
        command=command, args=[*args], env=dict(env), cwd=cwd
    )
    # Not sys.stderr: a notebook has put something there that no process can write to.
    return stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)


@asynccontextmanager
async def over_http(
    url: str,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None,
    connect_timeout_s: float,
) -> AsyncGenerator[TransportStreams]:
    """Talk to a server by streamable HTTP.

    Nothing limits the silence of an answer: a tool may take long, and has a time of its
    own.
    """
    verify: ssl.SSLContext | bool = False
    if url.startswith("https:"):
        # It takes a tenth of a second, and no loop may stand still that long.
        verify = await asyncio.to_thread(httpx2.create_ssl_context)
    async with (
        httpx2.AsyncClient(
            headers=headers,
            auth=auth,
            verify=verify,
            mounts=_NO_PROXY,
            timeout=httpx2.Timeout(connect_timeout_s, read=None),
            event_hooks={} if auth else {"response": [_refuse]},
        ) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[TransportStreams], ended: Callable[[], None]
) -> AsyncGenerator[TransportStreams]:
    """Pass on a transport, and tell when the server has ended it."""
    async with transport as (incoming, outgoing):
        yield _Watched(incoming, ended), outgoing


async def _refuse(response: httpx2.Response) -> None:
    # The SDK would say "an error response" and forget which.
    if response.status_code in _REFUSED:
        raise refused(response.status_code)


class _Watched:
    """A stream that tells its end; without it, only the next call would find out."""

    def __init__(self, incoming: Incoming, ended: Callable[[], None]) -> None:
        self._incoming = incoming
        self._ended = ended

    @property
    def last_context(self) -> object:
        """The context variables of the sender, where the SDK looks for them."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._incoming.receive()
        except anyio.EndOfStream:
            self._ended()
            raise

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Watched:
        await self._incoming.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._incoming.__aexit__(exc_type, exc_val, exc_tb)
