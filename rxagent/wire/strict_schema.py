"""The part of JSON Schema to which OpenAI holds an answer."""

from __future__ import annotations

from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.schema_words import can_say, with_words

__all__ = ["strict_schema"]

_SCHEMAS_BY_NAME = ("$defs", "definitions")
_NOT_THERE = frozenset(
    {
        "allOf",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "maxContains",
        "maxProperties",
        "minContains",
        "minProperties",
        "not",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    }
)
_UNSAID = ("default", "discriminator")  # they decide nothing
_KINDS = {"type", "anyOf", "$ref"}  # one of them is asked for in each place
_FORMATS = (
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uuid",
)


def strict_schema(schema: JsonSchema) -> JsonSchema | None:
    """Rewrite a schema to one that a strict answer can be held to.

    What fits it fits the schema that it was made of: objects are closed, and every
    member is required, also where it may be left out.  But a format or a pattern that
    would be refused moves into the description.

    Args:
        schema: JSON Schema of an object.

    Returns:
        ``None`` if the strict part cannot say it: an object whose names are not known
        before, a root that is no object, a place of any type, or a word that is not in
        it.

    Source: https://platform.openai.com/docs/guides/structured-outputs
    """
    if schema.get("type") != "object":
        return None
    try:
        return _strict(schema)
    except _NotStrictError:
        return None


class _NotStrictError(Exception):
    """The strict part has no word for it."""


def _strict(schema: JsonSchema) -> dict[str, object]:
    strict: dict[str, object] = {}
    words: dict[str, object] = {}
    for word, value in schema.items():
        if word in _NOT_THERE:
            raise _NotStrictError(word)
        if word in _SCHEMAS_BY_NAME and is_object(value):
            strict[word] = {name: _inner(each) for name, each in value.items()}
        elif word in ("anyOf", "oneOf") and is_array(value):
            strict["anyOf"] = [_inner(each) for each in value]
        elif word == "items":
            strict[word] = _inner(value)
        elif not can_say(word, value, formats=_FORMATS):
            words[word] = value
        elif word not in _UNSAID:
            strict[word] = value
    kinds = schema.get("type")
    if kinds == "object" or (is_array(kinds) and "object" in kinds):
        _close(strict)
    if "$ref" in strict and len(strict) > 1 and "$defs" not in strict:
        # A reference stands alone there, and what is said beside it around it.
        strict["anyOf"] = [{"$ref": strict.pop("$ref")}]
    if not strict.keys() & _KINDS:
        raise _NotStrictError("a schema that leaves the type open")
    return with_words(strict, words)


def _close(schema: dict[str, object]) -> None:
    properties = schema.get("properties")
    if not is_object(properties) or schema.get("additionalProperties") not in (
        None,
        False,
    ):
        raise _NotStrictError("properties")
    schema["properties"] = {name: _inner(each) for name, each in properties.items()}
    schema["required"] = list(properties)
    schema["additionalProperties"] = False


def _inner(value: object) -> dict[str, object]:
    if not is_object(value):
        raise _NotStrictError("a schema that is true or false")
    return _strict(value)
