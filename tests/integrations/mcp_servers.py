"""MCP servers for tests, in this process and as processes, and calls to them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer

from rxagent.context import Context
from rxagent.events import ToolFinished, ToolProgress
from rxagent.integrations.mcp import McpServer
from rxagent.integrations.mcp.server import McpOptions
from rxagent.messages import ToolCall
from rxagent.requests import Origin, ToolSpec
from rxagent.runtime import Flow
from rxagent.tools import ToolEvent, run_call, tool_index

__all__ = [
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
