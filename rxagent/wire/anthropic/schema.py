"""The part of JSON Schema in which Anthropic answers."""

from __future__ import annotations

from rxagent.errors import RequestError
from rxagent.requests import JsonSchema
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["can_be_closed", "closed_schema"]

_SCHEMAS_BY_NAME = ("properties", "$defs", "definitions")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf")
# What says which names an object has; closed without it, it could only be empty.
_SHAPES = {"properties", "$ref", "allOf", "anyOf", "oneOf"}
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
        RequestError: If an object has names that are not known before.

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    if schema.get("type") == "object" and not schema.keys() & _SHAPES:
        raise _open(path)
    closed: dict[str, object] = {}
    limits: list[str] = []
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
            raise _open(path)
        elif name in _LIMITS or (name == "minItems" and value not in (0, 1)):
            limits.append(f"{name}: {dump_json(value).decode()}")
        else:
            closed[name] = value
    if schema.get("type") == "object" or "properties" in schema:
        closed["additionalProperties"] = False
    if limits:
        about = schema.get("description")
        told = f"{about} " if isinstance(about, str) and about else ""
        closed["description"] = f"{told}({', '.join(limits)})"
    return closed


def can_be_closed(schema: JsonSchema) -> bool:
    """Whether `closed_schema` can say it."""
    try:
        closed_schema(schema)
    except RequestError:
        return False
    return True


def _open(path: str) -> RequestError:
    return RequestError(
        f"the schema at {path} leaves the names of an object open, which "
        "Anthropic cannot answer; ask for a list of names and values"
    )


def _closed(value: object, path: str) -> object:
    return closed_schema(value, path=path) if is_object(value) else value
