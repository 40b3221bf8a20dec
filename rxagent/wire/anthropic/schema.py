"""The part of JSON Schema in which Anthropic answers."""

from __future__ import annotations

from collections.abc import Iterator

from rxagent.errors import RequestError
from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.schema_words import can_say, with_words

__all__ = ["can_be_closed", "closed_schema"]

_SCHEMAS_BY_NAME = ("properties", "$defs", "definitions")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf")
# What says which names an object has; closed without it, it could only be empty.
_SHAPES = {"properties", "$ref", "allOf", "anyOf", "oneOf"}
_OPEN = "leaves the names of an object open"
_FORMATS = (
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uuid",
)
_NOT_THERE = frozenset(
    {
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "not",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LIMITS = frozenset(
    {
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "uniqueItems",
    }
)


def closed_schema(schema: JsonSchema, *, path: str = "$") -> dict[str, object]:
    """Rewrite a schema to one that the API takes, and that allows no more.

    Objects are closed, as the API wants them.  Limits that it refuses, such as
    ``minimum``, move into the description: there the model reads them, and whoever
    validates the answer still has the schema.

    Args:
        schema: JSON Schema.
        path: Of it, for errors.

    Raises:
        RequestError: If an object has names that are not known before, a reference
            leads back to where it stands, or a word is none that the API knows.

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    if schema.get("type") == "object" and not schema.keys() & _SHAPES:
        raise _refused(path, _OPEN)
    if path == "$" and _is_recursive(schema):
        raise _refused(path, "refers to itself")
    closed: dict[str, object] = {}
    words: dict[str, object] = {}
    for name, value in schema.items():
        here = f"{path}.{name}"
        if name in _SCHEMAS_BY_NAME and is_object(value):
            closed[name] = {
                key: _closed(each, f"{here}.{key}") for key, each in value.items()
            }
        elif name in _LISTS_OF_SCHEMAS and is_array(value):
            closed[name] = [_closed(each, here) for each in value]
        elif name == "oneOf" and is_array(value):
            closed["anyOf"] = [_closed(each, here) for each in value]
        elif name == "items":
            closed[name] = _closed(value, here)
        elif name == "additionalProperties" and is_object(value):
            raise _refused(path, _OPEN)
        elif _is_limit(name, value):
            words[name] = value
        elif name in _NOT_THERE:
            raise _refused(path, f"has {name}")
        elif name != "discriminator":  # it decides nothing
            closed[name] = value
    if schema.get("type") == "object" or "properties" in schema:
        closed["additionalProperties"] = False
    return with_words(closed, words)


def can_be_closed(schema: JsonSchema) -> bool:
    """Whether `closed_schema` can say it."""
    try:
        closed_schema(schema)
    except RequestError:
        return False
    return True


def _is_limit(name: str, value: object) -> bool:
    if name == "minItems":
        return value not in (0, 1)
    return name in _LIMITS or not can_say(name, value, formats=_FORMATS)


def _refused(path: str, why: str) -> RequestError:
    return RequestError(
        f"the schema at {path} {why}, which Anthropic cannot answer; ask with "
        "mode='tool', or for another type"
    )


def _is_recursive(schema: JsonSchema) -> bool:
    """Whether a reference leads back to where it stands."""
    definitions = {
        f"#/{word}/{name}": set(_references(each))
        for word in ("$defs", "definitions")
        if is_object(said := schema.get(word))
        for name, each in said.items()
    }
    root = {name: each for name, each in schema.items() if name not in _SCHEMAS_BY_NAME}
    waiting = {"#": {*_references([root, schema.get("properties")])}} | definitions
    # Take away what refers to nothing that is left, until nothing changes.
    while ends := [name for name, to in waiting.items() if not to & waiting.keys()]:
        for name in ends:
            del waiting[name]
    return bool(waiting)


def _references(said: object) -> Iterator[str]:
    if is_array(said):
        for each in said:
            yield from _references(each)
    elif is_object(said):
        for name, each in said.items():
            if name == "$ref" and isinstance(each, str):
                yield each
            yield from _references(each)


def _closed(value: object, path: str) -> object:
    return closed_schema(value, path=path) if is_object(value) else value
