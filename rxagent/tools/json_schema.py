"""Checking arguments against a JSON Schema that came as data.

Imported when the first such tool is made: jsonschema costs a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from rxagent.errors import ConfigurationError, ToolError
from rxagent.requests import JsonSchema
from rxagent.tools.arguments import ArgumentsCheck, Misfit, located

__all__ = ["check_against"]


def check_against(parameters: JsonSchema, *, tool: str) -> ArgumentsCheck:
    """Prepare the check of ``parameters``, once for each tool.

    Args:
        parameters: JSON Schema of an object, Draft 2020-12.  References must lead to
            places inside it: nothing is fetched.
        tool: Whose schema it is, for errors.

    Raises:
        ConfigurationError: If it is no JSON Schema, or not one of an object.
    """
    schema = dict(parameters)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(
            f"tool {tool!r}: its parameters are no JSON Schema: "
            f"{located(error.absolute_path, error.message)}"
        ) from None
    if schema.get("type") != "object":
        raise ConfigurationError(
            f"tool {tool!r}: its parameters are of type {schema.get('type')!r}, but "
            'arguments come by name; write {"type": "object", "properties": {...}}'
        )
    # With a registry, and an empty one: the default fetches what a $ref points to.
    validator: Any = Draft202012Validator(schema, registry=Registry())

    def check(arguments: dict[str, object]) -> dict[str, object] | Misfit:
        errors: Iterable[ValidationError] = validator.iter_errors(arguments)
        try:
            problems = tuple(
                located(error.absolute_path, error.message) for error in errors
            )
        except Unresolvable as error:
            raise ToolError(
                tool, f"has parameters with a $ref that leads nowhere ({error.ref})"
            ) from error
        return Misfit(problems=problems) if problems else arguments

    return check
