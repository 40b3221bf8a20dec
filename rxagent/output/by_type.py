"""Checking answers by a Python type: pydantic's work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from inspect import isroutine
from itertools import takewhile
from typing import Any

from pydantic import PydanticUserError, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import ErrorDetails, from_json

from rxagent.errors import ConfigurationError
from rxagent.output.problems import Check, Misfit, misfit, missing, place
from rxagent.wire.json_text import is_array, is_object

__all__ = ["check_by_type"]


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles made of names, which cost tokens and say nothing."""

    # A default that JSON cannot say is the type's own business.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as its base
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def check_by_type(kind: Any) -> tuple[Mapping[str, object], Check]:
    """Prepare the check of a type, once, and make its schema.

    Args:
        kind: A pydantic model, dataclass, TypedDict, list, union, enum, literal, or
            any other type that pydantic knows.

    Raises:
        ConfigurationError: If pydantic does not know it, or JSON Schema cannot say it.
    """
    if isroutine(kind):  # pydantic would call it, with what the model says
        raise ConfigurationError(
            f"{kind!r} is a function and no type; to check answers by a function, use "
            "validate(check=...)"
        )
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        schema = adapter.json_schema(schema_generator=_Untitled)
    except (PydanticUserError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"an answer cannot be of type {kind!r} ({reason}); use a pydantic model, a "
            "dataclass, a TypedDict, a list, a plain type, or a JSON Schema"
        ) from error

    def check(data: bytes) -> object:
        try:
            return adapter.validate_json(data)
        except PydanticError as error:
            value = from_json(data)
            first = _nearest(
                error.errors(include_url=False, include_context=False), value
            )
            path = _path(first["loc"], value)
            if first["type"] == "missing":
                return missing([*path, first["loc"][-1]])
            return _problem(path, first["msg"], first["input"])

    return schema, check


def _nearest(errors: list[ErrorDetails], value: object) -> ErrorDetails:
    """The first of them; of a union that of the part with the fewest problems."""
    depth = _steps_to_part(errors[0], value)
    if depth is None:
        return errors[0]
    place = errors[0]["loc"][:depth]
    there = [*takewhile(lambda each: each["loc"][:depth] == place, errors)]
    parts = [each["loc"][: depth + 1] for each in there]
    counts = Counter(parts)
    return there[parts.index(min(counts, key=counts.__getitem__))]


def _steps_to_part(error: ErrorDetails, value: object) -> int | None:
    """How many steps are in the answer, before one that names a part of a union."""
    steps = error["loc"][:-1] if error["type"] == "missing" else error["loc"]
    lengths = range(1, len(steps) + 1)
    return next((n - 1 for n in lengths if len(_path(steps[:n], value)) < n), None)


def _path(steps: tuple[int | str, ...], value: object) -> list[int | str]:
    """The steps that are in the answer; pydantic tells those of its types, too."""
    path: list[int | str] = []
    for step in steps:
        if is_object(value) and step in value:
            value = value[str(step)]
        elif is_array(value) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            continue
        path.append(step)
    return path


def _problem(path: list[int | str], message: str, found: object) -> Misfit:
    _, is_about_input, expected = message.partition("Input should ")
    if is_about_input:
        expected = expected.partition(", unable to")[0]
        return misfit(path, f"should {expected}", found)
    return Misfit(f"{place(path)}: {message}")
