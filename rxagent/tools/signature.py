"""What the signature of a function says, with its annotations evaluated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.tools.tool_context import ToolContext

__all__ = [
    "Parameter",
    "Runs",
    "context_parameter",
    "is_context",
    "origin_of",
    "parameters_of",
    "runs_of",
    "taking_parameter",
]

_EMPTY = inspect.Parameter.empty

Runs: TypeAlias = Literal["in_thread", "on_loop", "as_stream"]
"""Where a function runs: a worker thread, the event loop, or where it is subscribed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter that is given by name.

    Args:
        name: As in the signature.
        annotation: Evaluated.
        default: ``inspect.Parameter.empty`` if there is none.
    """

    name: str
    annotation: object
    default: object = _EMPTY

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _EMPTY


def parameters_of(
    function: Callable[..., object], *, tool: str
) -> tuple[Parameter, ...]:
    """Read the parameters, without those that a partial has bound.

    Args:
        function: A function, a method or a partial of one.
        tool: Its name as a tool, for errors.

    Raises:
        ConfigurationError: If one cannot be given by name, or has no annotation that
            can be evaluated.
    """
    return tuple(
        Parameter(
            name=each.name,
            annotation=_annotation(function, each, tool=tool),
            default=each.default,
        )
        for each in _signature(function, tool=tool)
    )


def context_parameter(function: Callable[..., object], *, tool: str) -> str | None:
    """Find the parameter that takes a `ToolContext`; the others may be anything."""
    for each in inspect.signature(function).parameters.values():
        if each.annotation is not _EMPTY and is_context(
            _annotation(function, each, tool=tool)
        ):
            return each.name
    return None


def is_context(annotation: object) -> bool:
    """Whether an annotation is `ToolContext`, or a union or ``Annotated`` of it."""
    if annotation is ToolContext:
        return True
    if get_origin(annotation) is Annotated:
        return is_context(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return any(is_context(each) for each in get_args(annotation))
    return False


def taking_parameter(function: Callable[..., object], *, tool: str) -> str:
    """Find the parameter of a function that takes all that the model writes.

    Raises:
        ConfigurationError: If there is none.
    """
    injected = context_parameter(function, tool=tool)
    for each in inspect.signature(function).parameters.values():
        by_name = each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        if by_name and each.name != injected:
            return each.name
    raise ConfigurationError(
        f"tool {tool!r}: its function takes no argument by name; give it one for the "
        "model's"
    )


def runs_of(function: Callable[..., object]) -> Runs:
    """Tell where a function runs."""
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or inspect.isgeneratorfunction(function)  # made at once, stepped in threads
    ):
        return "on_loop"
    annotated = _returned(function)
    declared = get_origin(annotated) or annotated
    if isinstance(declared, type) and issubclass(declared, Observable):
        return "as_stream"
    return "in_thread"


def origin_of(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function of which ``function`` is a partial; else itself."""
    return function.func if isinstance(function, partial) else function


def _returned(function: Callable[..., object]) -> object:
    """Return the return annotation; ``None`` if there is none to be had."""
    try:
        return _evaluated(function, inspect.signature(function).return_annotation)
    except Exception:  # noqa: BLE001 - evaluating an annotation may run any code
        return None  # a name for type checkers only, and nothing depends on it


def _signature(
    function: Callable[..., object], *, tool: str
) -> list[inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"tool {tool!r}: its signature cannot be read ({error}); "
            "wrap it in a function with annotations"
        ) from error
    bound = function.keywords if isinstance(function, partial) else {}
    for each in found:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise ConfigurationError(
                f"tool {tool!r}: parameter {str(each).partition(':')[0]!r} takes what "
                "no schema can tell a model; give each parameter a name, or use "
                "Tool.from_schema"
            )
        if each.kind is each.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"tool {tool!r}: parameter {each.name!r} is positional-only, but "
                "arguments come by name; drop the '/' or wrap the function"
            )
    return [each for each in found if each.name not in bound]


def _annotation(
    function: Callable[..., object], parameter: inspect.Parameter, *, tool: str
) -> object:
    name = parameter.name
    if parameter.annotation is _EMPTY:
        how = (
            "make the tool of the bound method: tool(obj.method)"
            if name in {"self", "cls"}
            else f"write what it takes, such as `{name}: str`"
        )
        raise ConfigurationError(
            f"tool {tool!r}: parameter {name!r} has no annotation; {how}"
        )
    try:
        return _evaluated(function, parameter.annotation)
    except Exception as error:
        raise ConfigurationError(
            f"tool {tool!r}: the annotation {parameter.annotation!r} of parameter "
            f"{name!r} cannot be evaluated ({error}); define or import it at module "
            "level, not under TYPE_CHECKING or inside a function"
        ) from error


def _evaluated(function: Callable[..., object], annotation: object) -> object:
    names = getattr(inspect.unwrap(origin_of(function)), "__globals__", {})
    holder = SimpleNamespace(__annotations__={"it": annotation})
    hints: dict[str, object] = get_type_hints(holder, names, include_extras=True)
    return hints["it"]
