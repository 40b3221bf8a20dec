"""Checking answers against a JSON Schema that came as data.

Imported when the first such schema is given: jsonschema costs a tenth of a second.
"""

from __future__ import annotations

from json import dumps
from typing import Any

from jsonschema import Draft202012Validator, exceptions
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema_specifications import REGISTRY  # pyright: ignore[reportMissingTypeStubs]
from pydantic_core import from_json
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from rxagent.errors import ConfigurationError
from rxagent.output.problems import Check, Misfit, misfit, missing, place
from rxagent.requests import JsonSchema
from rxagent.wire.json_text import dump_json, is_object

__all__ = ["check_by_schema"]


def check_by_schema(schema: JsonSchema) -> Check:
    """Prepare the check of ``schema``, once.

    Args:
        schema: JSON Schema, Draft 2020-12.  References must lead to places inside it:
            nothing is fetched.

    Raises:
        ConfigurationError: If it is no JSON Schema.

    Source: https://json-schema.org/draft/2020-12/json-schema-validation
    """
    plain = dict(schema)
    try:
        dump_json(plain)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"this is no JSON Schema: {error}") from None
    try:
        Draft202012Validator.check_schema(plain)
        _look_up_references(plain)
    except SchemaError as error:
        raise ConfigurationError(
            "this is no JSON Schema: "
            f"{place(error.absolute_path, root='the root')}: "
            f"{error.message}"
        ) from None
    # With a registry, of the meta-schemas: the default fetches what a $ref points to.
    typed: Any = exceptions  # its best_match is typed but for an argument
    validator: Any = Draft202012Validator(plain, registry=REGISTRY)

    def check(data: bytes) -> object:
        value = from_json(data)
        try:
            first = min(validator.iter_errors(value), key=_is_nested, default=None)
            # Of the ways in which no part of a union fits, the one that comes nearest.
            error = first and typed.best_match(iter([first]))
        except RecursionError:
            return Misfit(f"{place(())} is nested too deeply")
        return value if error is None else _problem(error)

    return check


def _look_up_references(schema: dict[str, object]) -> None:
    root: Any = DRAFT202012.create_resource(schema)
    waiting: list[tuple[Any, Any]] = [(REGISTRY.resolver_with_root(root), root)]
    while waiting:
        resolver, resource = waiting.pop()
        found = resource.contents
        says = found if is_object(found) else {}
        for word in ("$ref", "$dynamicRef"):
            try:
                if word in says:
                    resolver.lookup(says[word])
            except Unresolvable:
                raise ConfigurationError(
                    f"the schema has a {word} that leads nowhere ({says[word]})"
                ) from None
        waiting.extend(
            (resolver.in_subresource(inner), inner) for inner in resource.subresources()
        )


def _is_nested(error: ValidationError) -> tuple[int, bool]:
    """What is further out is to be mended first; of two, what comes first."""
    return len(error.absolute_path), error.validator in ("anyOf", "oneOf")


def _problem(error: ValidationError) -> Misfit:
    path: list[int | str] = list(error.absolute_path)
    value: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(value, dict):
        lacks = [name for name in wanted if name not in value]
        return missing([*path, lacks[0]])
    if error.validator == "type":
        kinds = [wanted] if isinstance(wanted, str) else list(wanted)
        return misfit(path, f"should be of type {' or '.join(kinds)}", value)
    if error.validator == "enum":
        return misfit(path, f"should be one of {dumps(wanted)}", value)
    return Misfit(f"{place(path)}: {_short(error.message)}")


def _short(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else f"{message[: limit - 1]}…"
