"""Sample arguments for a tool, for a worked example of a call."""

from __future__ import annotations

from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object

__all__ = ["sample_arguments"]

_DEPTH = 8  # of nesting; a type may hold itself
_SAMPLES: dict[str, object] = {
    "string": "abc",
    "integer": 3,
    "number": 3.5,
    "boolean": True,
}


def sample_arguments(parameters: JsonSchema) -> dict[str, object]:
    """Return a value for every required parameter.

    Args:
        parameters: JSON Schema of an object.  ``examples``, ``enum`` and ``const`` in
            it are taken; where it has none, a value that only has the right type.
    """
    return _sample_object(parameters, parameters, _DEPTH)


def _sample_object(
    schema: JsonSchema, root: JsonSchema, depth: int
) -> dict[str, object]:
    properties, required = schema.get("properties"), schema.get("required")
    if not is_object(properties) or not is_array(required):
        return {}
    return {
        name: _sample(each, root, depth - 1)
        for name, each in properties.items()
        if name in required
    }


def _sample(schema: object, root: JsonSchema, depth: int) -> object:
    if not is_object(schema) or depth <= 0:
        return None
    if "const" in schema:
        return schema["const"]
    for key in ("examples", "enum"):
        if is_array(given := schema.get(key)) and given:
            return given[0]
    for key in ("anyOf", "oneOf", "allOf"):
        if is_array(choices := schema.get(key)) and choices:
            return _sample(choices[0], root, depth - 1)
    if isinstance(reference := schema.get("$ref"), str):
        return _sample(_resolved(reference, root), root, depth - 1)
    match schema.get("type"):
        case "object":
            return _sample_object(schema, root, depth)
        case "array":
            return [_sample(schema.get("items"), root, depth - 1)]
        case kind:
            return _SAMPLES.get(kind) if isinstance(kind, str) else None


def _resolved(reference: str, root: JsonSchema) -> object:
    found: object = dict(root)
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step) if is_object(found) else None
    return found
