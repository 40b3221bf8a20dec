"""One session with an MCP server, on one event loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import anyio
from mcp import Client, MCPError, types
from mcp.client import IncomingMessage, Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from rxagent.errors import ToolFailedError
from rxagent.integrations.mcp.failures import NeverRanError, failure_of, lost
from rxagent.integrations.mcp.questions import Questions
from rxagent.integrations.mcp.transports import watched

__all__ = ["Connection", "McpProgress"]

_PAGES = 100  # of a list; a server that always has another one must not hold a turn
_LISTEN_AGAIN_S = 5.0
# The code alone does not tell: one answer that breaks off over HTTP has it too.
_CLOSED = "Connection closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpProgress:
    """How far a call has come, in the words of its server.

    Args:
        done: Grows with each report.
        total: What ``done`` will have come to at the end, if that is known.
        message: What is being done.
    """

    done: float
    total: float | None = None
    message: str | None = None


class Connection:
    """A session, held open by a task of its own, because it belongs to one.

    Args:
        server: Its name, for errors.
        transport: The way to it.
        questions: Who answers what it asks.
        connect_timeout_s: Longest wait until it is ready, in seconds.
    """

    def __init__(
        self,
        *,
        server: str,
        transport: Callable[[], Transport],
        questions: Questions,
        connect_timeout_s: float,
    ) -> None:
        self._server = server
        self._transport = transport
        self._questions = questions
        self._connect_timeout_s = connect_timeout_s
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._end = asyncio.Event()
        self._ended_by_server = False
        self._failure: Exception | None = None
        self._listens = False
        self._listing: list[types.Tool] | None = None
        self._changed = asyncio.Event()
        # It outlives whoever needs it first, so it sees none of their variables.
        self._task = asyncio.get_running_loop().create_task(
            self._hold(), context=contextvars.Context()
        )

    @property
    def is_over(self) -> bool:
        """Nothing can be asked any more."""
        return self._end.is_set() or self._task.done()

    def end(self) -> None:
        """Begin to close it.  On its loop."""
        self._end.set()

    async def close(self) -> None:
        """Close it, and wait until its process or its sockets are gone."""
        self.end()
        await asyncio.wait([self._task])

    async def call(
        self,
        tool: str,
        arguments: dict[str, object],
        report: Callable[[McpProgress], None],
    ) -> types.CallToolResult:
        """Call a tool; cancelling tells the server.

        Args:
            tool: In the server's words.
            arguments: By name.
            report: Takes the progress.

        Raises:
            ToolFailedError: If there is no result.
        """

        async def tell(
            progress: float, total: float | None, message: str | None
        ) -> None:
            report(McpProgress(done=progress, total=total, message=message))

        client = await self._opened()
        try:
            return await client.call_tool(tool, arguments, progress_callback=tell)
        except MCPError as error:
            raise await self._failed(error) from None
        except ValidationError:
            # Its text is a page of all that a result may be.
            raise ToolFailedError(
                f"MCP server {self._server!r} answered with something that is no result"
            ) from None

    async def tools(self) -> list[types.Tool]:
        """What the server offers now.

        Asked again each time, unless a subscription tells when that changes.

        Raises:
            ToolFailedError: If it does not say.
        """
        client = await self._opened()
        if client.server_capabilities.tools is None:
            return []
        if self._listing is not None:
            return self._listing
        changed = self._changed
        try:
            listing = await self._pages(client)
        except MCPError as error:
            raise await self._failed(error) from None
        if self._listens and not changed.is_set():
            self._listing = listing
        return listing

    async def listings(self) -> AsyncGenerator[list[types.Tool]]:
        """What the server offers now, and whenever that has changed.

        Ends when the connection is closed from here.

        Raises:
            ToolFailedError: If it is lost.
        """
        last: list[types.Tool] | None = None
        while True:
            changed = self._changed  # before, so that no change is missed
            listing = await self.tools()
            if listing != last:
                yield listing
            last = listing
            await changed.wait()
            if self.is_over:
                await self.close()
                if self._failure is None and not self._ended_by_server:
                    return
                raise self._lost()

    async def _opened(self) -> Client:
        await self._ready.wait()
        if self._client is None or self.is_over:
            await self.close()
            raise self._lost()
        return self._client

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._connect_timeout_s):
                    client = await stack.enter_async_context(self._new_client())
                    await self._follow_changes(stack, client)
                self._client = client
                self._ready.set()
                await self._end.wait()
        except Exception as error:  # noqa: BLE001 - whoever asks next is told
            self._failure = error
        finally:
            self._end.set()
            self._ready.set()
            self._changed.set()

    def _new_client(self) -> Client:
        questions = self._questions
        return Client(
            watched(self._transport(), self._ended),
            message_handler=self._hear,
            elicitation_callback=questions.elicit if questions.ask else None,
            sampling_callback=questions.sample if questions.model else None,
        )

    def _ended(self) -> None:
        self._ended_by_server = not self._end.is_set()
        self._end.set()

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._change()

    def _change(self) -> None:
        self._listing = None
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _follow_changes(self, stack: AsyncExitStack, client: Client) -> None:
        """Subscribe to changes, where the protocol knows that.

        An older server tells of them unasked, if it can.  Over HTTP it may say that it
        does and have no way to, so it is not believed, and its list is not kept.
        """
        offered = client.server_capabilities.tools
        tells = offered is not None and bool(offered.list_changed)
        if tells and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tried = asyncio.Event()
            tasks.start_soon(self._listen, client, tried)
            await tried.wait()

    async def _listen(self, client: Client, tried: asyncio.Event) -> None:
        while True:
            with suppress(MCPError, SubscriptionLost):
                async with client.listen(tools_list_changed=True) as changes:
                    self._listens = True
                    self._change()  # what was missed before
                    tried.set()
                    async for _ in changes:
                        self._change()
            self._listens = False
            self._listing = None
            tried.set()
            await asyncio.sleep(_LISTEN_AGAIN_S)

    async def _pages(self, client: Client) -> list[types.Tool]:
        listing: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            listing += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return listing
        raise ToolFailedError(
            f"MCP server {self._server!r} lists its tools on more than {_PAGES} pages",
            kind="environment",
        )

    async def _failed(self, error: MCPError) -> ToolFailedError:
        if error.message == _CLOSED:
            # The reason is known when everything is closed.
            await self.close()
            return self._lost()
        failure = failure_of(self._server, error)
        if isinstance(failure, NeverRanError):
            self.end()
        return failure

    def _lost(self) -> ToolFailedError:
        return lost(self._server, self._failure)
