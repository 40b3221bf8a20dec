from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from rxagent.errors import RequestError
from rxagent.output import output_type
from rxagent.wire.anthropic.schema import can_be_closed, closed_schema


class Actor(BaseModel):
    name: str = Field(min_length=1)


class Film(BaseModel):
    """A film."""

    title: str
    year: int = Field(ge=1888, lt=2100, description="Of the premiere.")
    actors: list[Actor] = Field(max_length=3)
    rating: float | None = None


def test_objects_are_closed_and_limits_are_words() -> None:
    closed = closed_schema(TypeAdapter(Film).json_schema())

    assert closed == {
        "title": "Film",
        "description": "A film.",
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "year", "actors"],
        "properties": {
            "title": {"title": "Title", "type": "string"},
            "year": {
                "title": "Year",
                "type": "integer",
                "description": (
                    "Of the premiere. (exclusiveMaximum: 2100, minimum: 1888)"
                ),
            },
            "actors": {
                "title": "Actors",
                "type": "array",
                "items": {"$ref": "#/$defs/Actor"},
                "description": "(maxItems: 3)",
            },
            "rating": {
                "title": "Rating",
                "anyOf": [{"type": "number"}, {"type": "null"}],
                "default": None,
            },
        },
        "$defs": {
            "Actor": {
                "title": "Actor",
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {
                        "title": "Name",
                        "type": "string",
                        "description": "(minLength: 1)",
                    }
                },
            }
        },
    }


def test_one_of_is_any_of_and_a_first_item_may_be_asked_for() -> None:
    schema = {
        "oneOf": [
            {"type": "array", "items": True, "minItems": 1},
            {"type": "array", "minItems": 2},
        ]
    }

    assert closed_schema(schema) == {
        "anyOf": [
            {"type": "array", "items": True, "minItems": 1},
            {"type": "array", "description": "(minItems: 2)"},
        ]
    }


def test_a_property_may_have_the_name_of_a_limit_and_a_value_any_form() -> None:
    schema = {
        "type": "object",
        "properties": {"minimum": {"const": {"minimum": 1, "type": "object"}}},
        "additionalProperties": True,
    }
    assert closed_schema(schema) == {**schema, "additionalProperties": False}


def test_open_names_cannot_be_asked_for() -> None:
    schema = TypeAdapter(dict[str, list[dict[str, int]]]).json_schema()

    with pytest.raises(RequestError, match=r"the schema at \$ leaves the names"):
        closed_schema(schema)
    nested = {"type": "array", "items": schema}
    with pytest.raises(RequestError, match=r"the schema at \$\.items leaves"):
        closed_schema(nested)


@pytest.mark.parametrize("kind", [dict[str, object], dict[str, int], dict])
def test_an_object_that_could_only_be_empty_is_not_asked_for(kind: Any) -> None:
    schema = TypeAdapter(kind).json_schema()

    assert not can_be_closed(schema)
    with pytest.raises(RequestError, match="leaves the names"):
        closed_schema(schema)


class Node(BaseModel):
    inner: list[Node] = []


class Odd(BaseModel):
    even: Even | None = None


class Even(BaseModel):
    odd: Odd | None = None


class Two(BaseModel):
    first: Actor
    second: Actor


def test_what_refers_to_itself_or_is_not_known_cannot_be_asked_for() -> None:
    assert can_be_closed(TypeAdapter(Two).json_schema())
    for kind in (Node, list[Node], Odd):
        assert not can_be_closed(output_type(kind).asked)
    assert not can_be_closed({"type": "object", "properties": {"a": {"$ref": "#"}}})
    with pytest.raises(RequestError, match=r"\$\.properties\.value has prefixItems"):
        closed_schema(output_type(tuple[int, str]).asked)


def test_what_would_be_refused_is_said_in_words() -> None:
    word = {"type": "string", "pattern": r"\bso\b", "discriminator": {}}
    number = {"type": "string", "format": "binary"}
    link = {"type": "string", "format": "uri", "pattern": "^http"}
    assert closed_schema(word)["description"] == r'(pattern: "\\bso\\b")'
    assert closed_schema(number) == {
        "type": "string",
        "description": '(format: "binary")',
    }
    assert closed_schema(link) == link


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean", "null"])},
        optional={"description": st.text(max_size=3)},
    ),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from("ab"), inner),
            }
        )
    ),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
def test_what_meets_the_closed_schema_meets_the_schema(
    schema: dict[str, Any], value: Any
) -> None:
    """Where there are no limits: those are words then."""
    closed = jsonschema.Draft202012Validator(closed_schema(schema))

    if closed.is_valid(value):
        jsonschema.validate(value, schema)
