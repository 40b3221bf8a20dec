"""The plain function of a call, ready to run in a thread, a process or a cluster."""

from __future__ import annotations

import contextvars
import importlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from types import GeneratorType
from typing import TypeAlias, TypeGuard

from rxagent.context import Write
from rxagent.errors import ToolError
from rxagent.tools.tool import Tool
from rxagent.tools.tool_context import ToolContext

__all__ = ["Job", "Outcome", "Submit", "exit_error"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to.

    Args:
        value: What the function returned.
        writes: What it wrote, if that was elsewhere, to a copy of the `ToolContext`.
    """

    value: object
    writes: tuple[Write, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A call of a plain function.

    It can be pickled if its arguments can, and if its function can or a module shows it
    as the tool that ``@tool`` made of it.

    Args:
        tool: Name of the tool.
        function: What runs.
        arguments: By name.
        variables: The context variables that the function sees; they cannot be pickled.
        stays: It is a step of what lives in this process, and cannot be elsewhere.
        travelled: It was pickled.
    """

    tool: str
    function: Callable[..., object]
    arguments: dict[str, object] = field(default_factory=dict[str, object])
    variables: contextvars.Context | None = None
    stays: bool = False
    travelled: bool = False

    def __call__(self) -> Outcome:
        """Call the function, and read to the end what it left to be read."""
        if self.variables is None:
            return self._run()
        return self.variables.run(self._run)

    def _run(self) -> Outcome:
        try:
            made = self.function(**self.arguments)
            value = [*made] if _is_unread(made) else made
        except SystemExit as exit_:
            raise exit_error(self.tool, exit_) from exit_
        return Outcome(value, self._written() if self.travelled else None)

    def _written(self) -> tuple[Write, ...]:
        contexts = (v for v in self.arguments.values() if isinstance(v, ToolContext))
        seen = next(contexts, None)
        return tuple(seen.writes) if seen else ()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        module = getattr(self.function, "__module__", "")
        name = getattr(self.function, "__qualname__", "")
        shown = _shown(module, name)
        if isinstance(shown, Tool) and shown.function is self.function:
            return _by_name, (self.tool, module, name, self.arguments)
        return _arrived, (self.tool, self.function, self.arguments)


Submit: TypeAlias = Callable[[Job, Callable[[], None] | None], Awaitable[Outcome]]
"""Runs a job somewhere, and says on the loop when it begins, if asked."""


def exit_error(tool: str, exit_: SystemExit) -> ToolError:
    """What a tool has done that tried to exit the program.

    The exit itself would end the thread of an event loop, or a worker, and all that
    runs there.
    """
    return ToolError(tool, f"tried to exit the program ({exit_})")


def _shown(module: str, name: str) -> object:
    """What a module shows under a name; ``None`` if nothing."""
    try:
        found: object = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError, ValueError):
        return None
    return found


def _by_name(tool: str, module: str, name: str, arguments: dict[str, object]) -> Job:
    shown = _shown(module, name)
    if isinstance(shown, Tool):
        return _arrived(tool, shown.function, arguments)
    raise ImportError(f"there is no tool {module}.{name} in this process")


def _arrived(
    tool: str, function: Callable[..., object], arguments: dict[str, object]
) -> Job:
    return Job(tool=tool, function=function, arguments=arguments, travelled=True)


def _is_unread(made: object) -> TypeGuard[Iterator[object]]:
    # ``map`` and generator expressions are lists in waiting.  The generator of a
    # function with ``yield``, that came through a wrapper, is not.
    if isinstance(made, GeneratorType):
        return made.gi_code.co_name == "<genexpr>"
    return isinstance(made, Iterator)
