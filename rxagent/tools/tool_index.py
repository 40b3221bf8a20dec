"""Finding a tool by the name that a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rxagent.errors import ConfigurationError
from rxagent.requests import ToolSpec
from rxagent.tools.safe_name import check_name
from rxagent.tools.tool import is_tool

__all__ = ["tool_index"]


def tool_index(tools: Iterable[ToolSpec]) -> Mapping[str, ToolSpec]:
    """Order tools by name, for `run_call` and `run_batch`.

    Args:
        tools: Whose names must differ.

    Returns:
        The tools by name, in their order.

    Raises:
        ConfigurationError: If one is no tool, two have one name, or a provider would
            refuse a name.
    """
    index: dict[str, ToolSpec] = {}
    for each in tools:
        if not isinstance(each, ToolSpec):
            raise ConfigurationError(
                f"{each!r} is no tool; make one of a function with @tool"
            )
        check_name(each.name)
        if (other := index.get(each.name)) is not None:
            raise ConfigurationError(
                f"two tools are named {each.name!r}: {_whereabouts(other)} and "
                f"{_whereabouts(each)}; rename one with @tool(name=...), or drop it"
            )
        index[each.name] = each
    return index


def _whereabouts(spec: ToolSpec) -> str:
    if not is_tool(spec):
        return f"a declared one ({spec.description[:60]!r})"
    function: object = spec.function
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}" if name else repr(function)
