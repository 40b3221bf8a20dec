"""Tools: functions that a model may call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import (
    Generic,
    ParamSpec,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Unpack,
    overload,
)

from pydantic import BaseModel

from rxagent.errors import ConfigurationError
from rxagent.requests import JsonSchema, ToolSpec
from rxagent.tools.arguments import ArgumentsCheck
from rxagent.tools.docstring import read_docstring
from rxagent.tools.rules import Declared, ToolRules
from rxagent.tools.safe_name import check_name
from rxagent.tools.schema import schema_of, schema_of_model
from rxagent.tools.signature import (
    Runs,
    context_parameter,
    is_context,
    origin_of,
    parameters_of,
    runs_of,
    taking_parameter,
)

__all__ = ["AnyTool", "Tool", "is_tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Q = ParamSpec("Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(ToolSpec, Generic[P, R_co]):
    """A `ToolSpec` with a function behind it; called directly, it is that function.

    Made by the decorator `tool`, by `from_schema` or by `from_model`.

    Args:
        name: As the model writes it.
        description: What it does and when to use it.
        parameters: JSON Schema of an object.
        function: What runs.
        check: Turns the object that the model wrote into keyword arguments.
        context_parameter: The function's parameter that takes a `ToolContext`.
        runs: In a worker thread, on the event loop, or as the observable it returns.
        rules: What its author declares about running it.

    Raises:
        ConfigurationError: If a provider would refuse the name.
    """

    function: Callable[P, R_co] = field(repr=False)
    check: ArgumentsCheck = field(repr=False, compare=False)
    context_parameter: str | None = field(default=None, repr=False)
    runs: Runs = field(default="in_thread", repr=False)
    rules: ToolRules = field(default_factory=ToolRules, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    @staticmethod
    def from_schema(
        function: Callable[Q, R],
        /,
        *,
        name: str,
        description: str,
        parameters: JsonSchema,
        **rules: Unpack[Declared],
    ) -> Tool[Q, R]:
        """Make a tool of a function and a JSON Schema that is there already.

        Arguments are checked against the schema, by jsonschema, and not coerced: an
        ``"integer"`` is no ``"2"``, and defaults are the function's.

        Args:
            function: Called with the arguments by name, and with a `ToolContext` if a
                parameter of it is annotated so.  ``**arguments`` takes any name.
            name: As the model writes it.
            description: What it does and when to use it.
            parameters: JSON Schema of an object, Draft 2020-12.
            **rules: How to run it; see `ToolRules`.

        Returns:
            The tool.

        Raises:
            ConfigurationError: If a rule makes no sense, or ``parameters`` is no such
                schema, or has a property with the name of the context's parameter.
        """
        # jsonschema costs a tenth of a second, and most programs never need it.
        from rxagent.tools.json_schema import check_against

        injected = context_parameter(function, tool=name)
        properties = parameters.get("properties")
        if injected and isinstance(properties, dict) and injected in properties:
            raise ConfigurationError(
                f"tool {name!r}: {injected!r} is a property of its schema and the "
                "parameter of its ToolContext; rename the parameter"
            )
        return Tool(
            name=name,
            description=description,
            parameters=parameters,
            function=function,
            check=check_against(parameters, tool=name),
            context_parameter=injected,
            runs=runs_of(function),
            rules=ToolRules(**rules),
        )

    @staticmethod
    def from_model(
        function: Callable[Q, R],
        model: type[BaseModel],
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **rules: Unpack[Declared],
    ) -> Tool[Q, R]:
        """Make a tool of a function of one pydantic model, whose fields are arguments.

        Args:
            function: Called with an instance of ``model``, validated, and with a
                `ToolContext` if a parameter of it is annotated so.
            model: What the call has to hold.
            name: As the model writes it; else the function's.
            description: What it does and when to use it; else the docstring of the
                function, or of ``model``.
            **rules: How to run it; see `ToolRules`.

        Returns:
            The tool.

        Raises:
            ConfigurationError: If a rule makes no sense, a provider would refuse the
                name, the function takes no argument, or ``model`` is no JSON object.
        """
        origin = origin_of(function)
        name = str(getattr(origin, "__name__", "")) if name is None else name
        check_name(name)
        schema, says, check = schema_of_model(
            model, parameter=taking_parameter(function, tool=name), tool=name
        )
        if description is None:
            description = read_docstring(origin.__doc__).description or says
        return Tool(
            name=name,
            description=description,
            parameters=schema,
            function=function,
            check=check,
            context_parameter=context_parameter(function, tool=name),
            runs=runs_of(function),
            rules=ToolRules(**rules),
        )


AnyTool: TypeAlias = Tool[..., object]


def is_tool(spec: ToolSpec | None) -> TypeGuard[AnyTool]:
    """Whether there is a function behind ``spec``."""
    return isinstance(spec, Tool)


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **rules: Unpack[Declared],
) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    **rules: Unpack[Declared],
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **rules: Unpack[Declared],
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Make a tool of a function.

    The schema comes from the annotations, ``Annotated[..., Field(...)]`` included, the
    descriptions from the Google docstring.  A parameter annotated as `ToolContext` is
    filled in and not shown to the model.

    What the function returns is the result: a plain function runs in a worker thread,
    an ``async def`` on the event loop.  A generator, sync or async, and a function
    annotated to return an ``Observable`` report each item as progress, at once, and the
    last one is the result too; a generator's own ``return`` value goes before it.

    Example:
        >>> @tool
        ... def add(a: int, b: int = 1) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> add(1, b=2), add.description, add.parameters["required"]
        (3, 'Add two numbers.', ['a'])

    Args:
        function: A function, a bound method, or a ``functools.partial``, whose bound
            arguments the model neither sees nor sets.
        name: As the model writes it; else the function's.
        description: What it does and when to use it; else from the docstring.
        **rules: How to run it: ``serial``, ``timeout_s``, ``retries``,
            ``retry_delay_s``, ``return_direct``, ``needs_approval``; see `ToolRules`.

    Returns:
        The tool; with options alone, the decorator that makes it.

    Raises:
        ConfigurationError: If a rule makes no sense, a provider would refuse the name,
            or a parameter cannot be given by name, has no annotation, or one that JSON
            cannot express.
    """
    declared = ToolRules(**rules)
    if function is None:
        return partial(_make, name=name, description=description, rules=declared)
    return _make(function, name=name, description=description, rules=declared)


def _make(
    function: Callable[P, R],
    *,
    name: str | None,
    description: str | None,
    rules: ToolRules,
) -> Tool[P, R]:
    _check_function(function)
    origin = origin_of(function)
    if name is None:
        name = str(getattr(origin, "__name__", type(origin).__name__))
    check_name(name)
    parameters = parameters_of(function, tool=name)
    injected = [each.name for each in parameters if is_context(each.annotation)]
    if len(injected) > 1:
        raise ConfigurationError(
            f"tool {name!r}: its ToolContext has two parameters, "
            f"{' and '.join(injected)}; keep one"
        )
    documented = read_docstring(origin.__doc__)
    schema, check = schema_of(
        [each for each in parameters if each.name not in injected],
        tool=name,
        descriptions=documented.parameters,
    )
    return Tool(
        name=name,
        description=documented.description if description is None else description,
        parameters=schema,
        function=function,
        check=check,
        context_parameter=injected[0] if injected else None,
        runs=runs_of(function),
        rules=rules,
    )


def _check_function(function: object) -> None:
    if not (inspect.isroutine(function) or isinstance(function, partial)):
        raise ConfigurationError(
            f"a tool is made of a function, a method or a partial, not of {function!r}"
        )
