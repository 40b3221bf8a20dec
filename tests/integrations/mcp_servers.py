"""MCP servers for tests: in this process, as a process, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

import uvicorn
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer
from starlette.types import ASGIApp

from rxagent.context import Context
from rxagent.events import ToolFinished, ToolProgress
from rxagent.integrations.mcp import McpServer
from rxagent.integrations.mcp.server import McpOptions
from rxagent.messages import ToolCall
from rxagent.requests import Origin, ToolSpec
from rxagent.runtime import Flow
from rxagent.tools import ToolEvent, run_call, tool_index

__all__ = [
    "HttpServer",
    "answer_of",
    "busy_process",
    "call_of",
    "events_of",
    "in_memory",
    "plain_process",
    "progress_in",
]

HERE = Path(__file__).parent


def in_memory(server: MCPServer[Any], **options: Unpack[McpOptions]) -> McpServer:
    """A server in this process; as fast as it gets."""
    return McpServer(lambda: InMemoryTransport(server), name="memory", **options)


def busy_process(
    env: Mapping[str, str] | None = None, **options: Unpack[McpOptions]
) -> McpServer:
    args = [str(HERE / "busy_server.py")]
    return McpServer.stdio(sys.executable, args, env=env, name="busy", **options)


def plain_process(
    env: Mapping[str, str] | None = None, **options: Unpack[McpOptions]
) -> McpServer:
    args = ["-S", str(HERE / "plain_server.py")]
    return McpServer.stdio(sys.executable, args, env=env, name="plain", **options)


def call_of(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=json.dumps(arguments))


async def events_of(
    server: McpServer,
    name: str,
    /,
    *,
    tools: Sequence[ToolSpec] | None = None,
    **arguments: object,
) -> list[ToolEvent]:
    """What happens to one call, as a tool loop would make it."""
    running = run_call(
        call_of(name, **arguments),
        tool_index(tools or await server.tools_now()),
        context=Context(),
        origin=Origin(),
    )
    return [event async for event in Flow[ToolEvent].of(running)]


async def answer_of(
    server: McpServer,
    name: str,
    /,
    *,
    tools: Sequence[ToolSpec] | None = None,
    **arguments: object,
) -> ToolFinished:
    *_, finished = await events_of(server, name, tools=tools, **arguments)
    assert isinstance(finished, ToolFinished)
    return finished


def progress_in(events: Sequence[ToolEvent]) -> list[object]:
    return [event.value for event in events if isinstance(event, ToolProgress)]


class HttpServer:
    """Serves an ASGI app on loopback, on a thread; a context manager.

    Args:
        app: To serve.
        port: Of an earlier server that this one takes the place of.
    """

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        config = uvicorn.Config(
            app, log_level="critical", ws="none", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._main)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self) -> HttpServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def _main(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener]))
