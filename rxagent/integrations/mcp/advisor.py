"""The tools of an MCP server, for whoever calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.chain import around
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.integrations.mcp.server import McpServer
from rxagent.named import Order, named
from rxagent.operators import concat_each
from rxagent.requests import ChatRequest
from rxagent.tools.tool import AnyTool
from rxagent.types import Advisor, Exchange

__all__ = ["mcp_tools"]


def mcp_tools(
    server: McpServer, *, where: Callable[[AnyTool], bool] | None = None
) -> Advisor:
    """Offer the model the tools that an MCP server has now.

    ::

        --q----------|
        [ mcp_tools(server) ]             inner answers q, which offers the tools too
        ----a--b--F--|

    The loop runs them as any other tool, so the list needs a ``tool_loop()``.  Right of
    it, each round offers what there is by then; left of it, a turn keeps what it began
    with.  Each server has an advisor of its own.

    Args:
        server: Whose tools they are; its session opens with the first request.
        where: Which of them; by default all.

    Returns:
        An advisor.  The turn fails with a `ToolFailedError` if the server cannot be
        reached, and with a `ConfigurationError` if a tool of the request has the name
        of one of the server's.
    """

    def offering(request: ChatRequest) -> Observable[ChatRequest]:
        def offered(tools: tuple[AnyTool, ...]) -> ChatRequest:
            added = tuple(filter(where, tools)) if where else tools
            taken = {tool.name for tool in request.tools}
            for tool in added:
                if tool.name in taken:
                    raise ConfigurationError(
                        f"MCP server {server.name!r} has a tool {tool.name!r}, and the "
                        "request has another; give the server a prefix"
                    )
            return replace(request, tools=(*request.tools, *added))

        return server.tools_now().pipe(ops.map(offered))

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        return offering(request).pipe(inner)

    return named(
        "mcp_tools",
        around(handle),
        settings=repr(server.name),
        order=Order.IN_LOOP,
        offer=concat_each(offering),
    )
