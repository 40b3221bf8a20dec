"""Schemas in the shape that providers take: that of an object."""

from __future__ import annotations

import re

from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object

__all__ = ["WRAP", "object_of", "within"]

WRAP = "value"
"""The member that holds an answer that is no object."""

_DEFINITIONS = ("$defs", "definitions")
_IN_ROOT = re.compile(r"#(?!/\$defs/|/definitions/)(/|$)")  # what moves with the root
_SAYS_NOTHING = {"$defs", "$schema", "description", "examples", "title"}


def object_of(schema: JsonSchema) -> JsonSchema | None:
    """The schema with the object at its root, if it is one of an object.

    The root of a recursive type refers to its definition, and providers want the
    object itself there.
    """
    if schema.get("type") == "object":
        return schema
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    beside = {word: said for word, said in schema.items() if word != "$ref"}
    if beside.keys() - _SAYS_NOTHING or not is_object(definitions):
        return None
    target = definitions.get(str(reference).removeprefix("#/$defs/"))
    if not is_object(target) or target.get("type") != "object":
        return None
    return target | beside


def within(schema: JsonSchema, member: str | None) -> dict[str, object]:
    """The schema of an object with one member of that kind, or of a list of them."""
    place = "#/items" if member is None else f"#/properties/{member}"
    inner = {word: _moved(said, place) for word, said in schema.items()}
    # A reference leads to the definitions of the root.
    above = {name: inner.pop(name) for name in _DEFINITIONS if name in inner}
    if member is None:
        return {"type": "array", "items": inner} | above
    return {
        "type": "object",
        "properties": {member: inner},
        "required": [member],
        "additionalProperties": False,
    } | above


def _moved(said: object, place: str) -> object:
    """A part of a schema that stands at ``place``, and whose references know it."""
    if is_array(said):
        return [_moved(each, place) for each in said]
    if not is_object(said):
        return said
    moved = {word: _moved(each, place) for word, each in said.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and _IN_ROOT.match(reference):
        moved["$ref"] = place + reference[1:]
    return moved
