"""An MCP server as a source of tools."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypedDict, TypeVar, Unpack
from urllib.parse import urlsplit

import httpx2
from mcp import types
from mcp.client import Transport

from rxagent.errors import ConfigurationError
from rxagent.integrations.mcp.connection import Connection
from rxagent.integrations.mcp.content import result_of
from rxagent.integrations.mcp.failures import NeverRanError
from rxagent.integrations.mcp.listed import tools_of
from rxagent.integrations.mcp.questions import Answerer, Questions
from rxagent.integrations.mcp.transports import over_http, over_stdio
from rxagent.runtime import Flow, Sink, call_on, from_async_iterable, from_producer
from rxagent.runtime._loop import on_loop
from rxagent.tools import ToolContext, ToolResult, ToolRules
from rxagent.tools.rules import check_seconds
from rxagent.tools.tool import AnyTool
from rxagent.types import Exchange

__all__ = ["McpOptions", "McpServer"]

T = TypeVar("T")

_CLOSE_S = 10.0  # more than a process is given before it is killed


class McpOptions(TypedDict, total=False):
    """What `McpServer` takes as well, whatever the way to the server."""

    prefix: str
    rules: ToolRules | None
    on_question: Answerer | None
    sampling: Exchange | None
    connect_timeout_s: float


class McpServer:
    """An MCP server, whose tools a model may call.

    ::

        [ McpServer(...).tools() ]        lists a and b; later a, b and c
        --(a,b)-----(a,b,c)--

    Making it does nothing.  The first use on an event loop opens a session there, which
    stays open for the next one; a lost session is opened again.  It is closed by
    ``with`` or ``async with``, when its event loop ends, or when nobody holds the
    server, its tools or a stream of them any more.

    What the server says of a failure is for the model; a server that cannot be reached
    is a failure of the environment, so that a turn can pause for it.  If the call of a
    tool is disposed, the server is told.

    Args:
        transport: Makes a way to the server, for each session; any transport of the
            SDK will do.
        name: Of the server, shown in errors and questions.
        prefix: Put before the names of its tools.
        rules: How they run; give them a ``timeout_s``, since without one nothing limits
            how long a server takes.
        on_question: Answers what the server asks the user in the middle of a call: the
            first item counts.  A mapping is the filled-in form (``{}`` where a page is
            to be opened), ``None`` declines, and to complete without an item leaves the
            question open.
        sampling: Answers what the server asks a model; any exchange.
        connect_timeout_s: Longest wait for a session, in seconds.

    Raises:
        ConfigurationError: If the time makes no sense.
    """

    def __init__(
        self,
        transport: Callable[[], Transport],
        *,
        name: str,
        prefix: str = "",
        rules: ToolRules | None = None,
        on_question: Answerer | None = None,
        sampling: Exchange | None = None,
        connect_timeout_s: float = 30.0,
    ) -> None:
        check_seconds("connect_timeout_s", connect_timeout_s)
        self.name = name
        self._prefix = prefix
        self._rules = rules or ToolRules()
        self._connect = partial(
            Connection,
            server=name,
            transport=transport,
            questions=Questions(server=name, ask=on_question, model=sampling),
            connect_timeout_s=connect_timeout_s,
        )
        self._connections: dict[asyncio.AbstractEventLoop, Connection] = {}
        # The portal and other loops cancel what is left when they end.
        weakref.finalize(self, _end_all, self._connections).atexit = False

    @classmethod
    def stdio(
        cls,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        name: str | None = None,
        **options: Unpack[McpOptions],
    ) -> McpServer:
        """A server that is started as a process for each session.

        Args:
            command: The program.
            args: Of the program.
            env: Added to the few variables that are safe to hand on, such as ``PATH``.
            cwd: Where it runs.
            name: Shown in errors; else that of the program.
            **options: See the class.

        Returns:
            The server.  Nothing runs yet.
        """
        if isinstance(args, str):
            raise ConfigurationError(f"args must be a list of texts, not {args!r}")
        transport = partial(over_stdio, command, tuple(args), dict(env or {}), cwd)
        return cls(transport, name=name or Path(command).name, **options)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: httpx2.Auth | None = None,
        name: str | None = None,
        **options: Unpack[McpOptions],
    ) -> McpServer:
        """A server that speaks streamable HTTP.

        Args:
            url: Of the endpoint.
            headers: Sent with each request; never shown.
            auth: Signs each request, such as an OAuth provider of the SDK.
            name: Shown in errors; else the host.
            **options: See the class.

        Returns:
            The server.  Nothing is sent yet.

        Raises:
            ConfigurationError: If ``url`` is no http address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            # An address may hold a password or a key.
            raise ConfigurationError("url must look like 'https://host/mcp'")
        connect_timeout_s = options.get("connect_timeout_s", 30.0)
        transport = partial(
            over_http, url, dict(headers or {}), auth, connect_timeout_s
        )
        return cls(transport, name=name or parts.hostname, **options)

    def tools(self) -> Flow[tuple[AnyTool, ...]]:
        """The tools that there are now, and anew whenever the server changes them.

        Returns:
            A cold flow, which completes when the server is closed from here.  Take the
            first item if no changes matter.  Its error is a `ToolFailedError` if there
            is no connection or it is lost, so that ``ops.retry`` connects again, and a
            `ConfigurationError` if two tools have one name.
        """
        return Flow[tuple[AnyTool, ...]].of(from_async_iterable(self._tools))

    def tools_now(self) -> Flow[tuple[AnyTool, ...]]:
        """The tools that there are now.

        ::

            [ McpServer(...).tools_now() ]
            --(a,b)|

        Returns:
            A cold flow of one item, to be awaited or ``run``; its errors are those of
            `tools`.
        """

        async def produce(sink: Sink[tuple[AnyTool, ...]]) -> None:
            sink.emit(self._made_of(await self._asked(Connection.tools)))

        return Flow[tuple[AnyTool, ...]].of(from_producer(produce))

    def close(self) -> None:
        """Close all sessions, and wait until their processes are gone.

        Not for those of the running event loop, which cannot wait; use `aclose` there.
        Whatever is used later opens a session again.
        """
        while self._connections:
            loop, connection = self._connections.popitem()
            if on_loop(loop) or not loop.is_running():
                call_on(loop, connection.end)
            else:
                ending = asyncio.run_coroutine_threadsafe(connection.close(), loop)
                ending.result(_CLOSE_S)

    async def aclose(self) -> None:
        """Close all sessions, and wait until their processes are gone."""
        here = self._connections.pop(asyncio.get_running_loop(), None)
        if here is not None:
            await here.close()
        if self._connections:
            await asyncio.to_thread(self.close)

    def __enter__(self) -> McpServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> McpServer:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"

    async def _tools(self) -> AsyncGenerator[tuple[AnyTool, ...]]:
        async with aclosing(self._connection().listings()) as listings:
            async for listing in listings:
                yield self._made_of(listing)

    def _made_of(self, listing: Sequence[types.Tool]) -> tuple[AnyTool, ...]:
        return tools_of(
            listing,
            server=self.name,
            prefix=self._prefix,
            rules=self._rules,
            call=self._call,
        )

    async def _call(
        self, tool: str, arguments: dict[str, object], context: ToolContext
    ) -> ToolResult:
        async def call(connection: Connection) -> types.CallToolResult:
            return await connection.call(tool, arguments, context.report)

        return result_of(await self._asked(call))

    async def _asked(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await ask(self._connection())
        except NeverRanError:
            return await ask(self._connection())

    def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        for closed in [each for each in [*self._connections] if each.is_closed()]:
            del self._connections[closed]
        connection = self._connections.get(loop)
        if connection is None or connection.is_over:
            connection = self._connections[loop] = self._connect()
        return connection


def _end_all(connections: dict[asyncio.AbstractEventLoop, Connection]) -> None:
    while connections:
        loop, connection = connections.popitem()
        call_on(loop, connection.end)
