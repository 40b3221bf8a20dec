from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from rxagent.output import output_type
from rxagent.wire.strict_schema import strict_schema


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    """A place."""

    x: int = Field(default=0, ge=0)
    label: str | None = None


class Shape(BaseModel):
    kind: Literal["line", "dot"]
    points: list[Point] = []
    centre: Point = Field(default=Point(), description="In the middle.")
    colour: Colour = Colour.RED


def test_objects_are_closed_and_every_member_is_required() -> None:
    strict = strict_schema(output_type(Point).asked)
    assert strict is not None
    assert strict["required"] == ["x", "label"]
    assert strict["additionalProperties"] is False
    assert strict["description"] == "A place."
    assert "default" not in str(strict)


def test_a_reference_stands_alone() -> None:
    strict = strict_schema(output_type(Shape).asked)
    assert strict is not None
    properties = strict["properties"]
    assert isinstance(properties, dict)
    assert properties["centre"] == {
        "anyOf": [{"$ref": "#/$defs/Point"}],
        "description": "In the middle.",
    }
    assert properties["colour"] == {"$ref": "#/$defs/Colour"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "object", "properties": {}}]},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {
            "type": "object",
            "properties": {"a": True},
        },
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
        {"type": "object", "properties": {"a": {"enum": [1, "a"]}}},
        {"type": "object", "properties": {}, "allOf": []},
        {
            "type": "object",
            "properties": {"a": {"type": ["object", "null"]}},
        },
        {
            "type": "object",
            "properties": {"a": {"type": "array", "uniqueItems": True}},
        },
        {
            "type": "object",
            "properties": {"a": {"type": "object", "patternProperties": {}}},
        },
    ],
)
def test_what_the_strict_part_cannot_say_is_not_said(schema: dict[str, object]) -> None:
    assert strict_schema(schema) is None


def test_what_would_be_refused_is_said_in_words() -> None:
    """OpenAI knows nine formats, and no look around in a pattern."""
    link = {"type": "string", "format": "uri", "description": "A link."}
    number = {"type": "string", "pattern": "^(?!0)\\d+$"}
    day = {"type": "string", "format": "date", "pattern": "^2"}
    schema = {"type": "object", "properties": {"a": link, "b": number, "c": day}}
    strict = strict_schema(schema)
    assert strict is not None
    assert strict["properties"] == {
        "a": {"type": "string", "description": 'A link. (format: "uri")'},
        "b": {"type": "string", "description": '(pattern: "^(?!0)\\\\d+$")'},
        "c": day,
    }


def test_an_object_that_may_be_null_is_closed_too() -> None:
    inner = {"type": ["object", "null"], "properties": {"b": {"type": "null"}}}
    strict = strict_schema({"type": "object", "properties": {"a": inner}})
    assert strict is not None
    closed = {**inner, "required": ["b"], "additionalProperties": False}
    assert strict["properties"] == {"a": closed}


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Pet(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind")


def test_members_of_a_union_that_are_told_apart_by_name_are_any_of_them() -> None:
    strict = strict_schema(output_type(Pet).asked)
    assert strict is not None
    assert strict["properties"] == {
        "pet": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["red", "dot"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["x", "label", "kind", "points", "centre", "colour"]),
            inner,
        )
    ),
    max_leaves=8,
)


@given(value=VALUES)
def test_what_fits_the_strict_schema_fits_the_other(value: Any) -> None:
    """S001-50."""
    for kind in (Point, Shape):
        wide = output_type(kind).schema
        strict = strict_schema(wide)
        assert strict is not None
        if Draft202012Validator(dict(strict)).is_valid(value):
            assert Draft202012Validator(dict(wide)).is_valid(value)


def test_the_law_has_something_to_say() -> None:
    strict = strict_schema(output_type(Point).schema)
    assert strict is not None
    assert Draft202012Validator(dict(strict)).is_valid({"x": 1, "label": None})
