"""``--tools``: which tools a command gives to the model."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from types import ModuleType

from rxagent.errors import ConfigurationError, RxAgentError
from rxagent.requests import ToolSpec
from rxagent.tools import Tool

__all__ = ["tools_from"]


def tools_from(names: Iterable[str]) -> list[ToolSpec]:
    """Import tools.

    Args:
        names: Each ``module:name`` of one tool, or ``module`` for all of its tools, in
            the order of their definition.  Modules of the current directory can be
            imported.

    Returns:
        The tools; one that is named twice comes once.

    Raises:
        ConfigurationError: If one cannot be imported, or is no tool.
    """
    found: list[ToolSpec] = []
    for name in names:
        for each in _tools(name):
            if not any(each is known for known in found):
                found.append(each)
    return found


def _tools(name: str) -> list[ToolSpec]:
    path, _, wanted = name.partition(":")
    module = _imported(path)
    tools = {key: value for key, value in vars(module).items() if _is_tool(value)}
    if not wanted:
        if not tools:
            raise ConfigurationError(
                f"module {path!r} has no tools; decorate its functions with "
                "@rxagent.tool"
            )
        return list(tools.values())
    if wanted in tools:
        return [tools[wanted]]
    if hasattr(module, wanted):
        raise ConfigurationError(f"{name!r} is no tool; decorate it with @rxagent.tool")
    raise ConfigurationError(
        f"module {path!r} has no {wanted!r}; its tools are: {', '.join(tools) or '-'}"
    )


def _imported(path: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(path)
    except RxAgentError:
        raise
    except ModuleNotFoundError as error:
        if error.name and f"{path}.".startswith(f"{error.name}."):
            raise ConfigurationError(
                f"there is no module {error.name!r} to take tools from; --tools wants "
                "module:name, with modules found from the current directory"
            ) from None
        raise _broken(path, error) from error
    except Exception as error:
        raise _broken(path, error) from error


def _broken(path: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"module {path!r} cannot be imported: {type(error).__name__}: {error}"
    )


def _is_tool(value: object) -> bool:
    return isinstance(value, Tool)
