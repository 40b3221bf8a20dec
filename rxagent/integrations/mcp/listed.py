"""From what an MCP server lists to tools that a model may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from mcp import types

from rxagent.errors import ConfigurationError, ToolError
from rxagent.tools import Tool, ToolContext, ToolRules
from rxagent.tools.arguments import ArgumentsCheck, Misfit
from rxagent.tools.safe_name import safe_name
from rxagent.tools.tool import AnyTool

__all__ = ["Call", "tools_of"]

Call: TypeAlias = Callable[[str, dict[str, object], ToolContext], Awaitable[object]]
"""Calls a tool, by the server's name for it."""

# No tool has a parameter of this name, and no model can set it.
_CONTEXT = "rxagent: the context of the call"


def tools_of(
    listing: Sequence[types.Tool],
    *,
    server: str,
    prefix: str,
    rules: ToolRules,
    call: Call,
) -> tuple[AnyTool, ...]:
    """Make tools of what a server lists.

    Args:
        listing: In the server's words.
        server: Its name, for errors.
        prefix: Of every name.
        rules: Of every tool.
        call: Calls one.

    Raises:
        ConfigurationError: If two tools have one name, once every provider takes it.
    """
    names: dict[str, str] = {}
    for listed in listing:
        name = safe_name(prefix + listed.name)
        if name in names:
            raise ConfigurationError(
                f"MCP server {server!r}: its tools {names[name]!r} and {listed.name!r} "
                f"are both {name!r} to a model; it must rename one"
            )
        names[name] = listed.name
    return tuple(
        _tool(name, listed, rules, call)
        for name, listed in zip(names, listing, strict=True)
    )


def _tool(name: str, listed: types.Tool, rules: ToolRules, call: Call) -> AnyTool:
    async def function(**arguments: object) -> object:
        context = arguments.pop(_CONTEXT)
        assert isinstance(context, ToolContext)
        return await call(listed.name, arguments, context)

    return Tool(
        name=name,
        description=listed.description or listed.title or "",
        parameters=listed.input_schema,
        function=function,
        check=_check(listed.input_schema, tool=name),
        context_parameter=_CONTEXT,
        runs="on_loop",
        rules=rules,
    )


def _check(schema: Mapping[str, object], *, tool: str) -> ArgumentsCheck:
    """Check arguments before they travel, if their schema can be understood here.

    The server checks them anyway, so a schema of another draft, or one that refers to
    somewhere else, does no harm.
    """

    @cache  # most tools of most servers are never called
    def prepared() -> ArgumentsCheck:
        # jsonschema costs a tenth of a second, and most programs never need it.
        from rxagent.tools.json_schema import check_against

        return check_against(schema, tool=tool)

    def check(arguments: dict[str, object]) -> dict[str, object] | Misfit:
        try:
            return prepared()(arguments)
        except (ConfigurationError, ToolError):
            return arguments

    return check
