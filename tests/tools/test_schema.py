from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Required, cast

import pytest
from pydantic import BaseModel, Field, Strict
from typing_extensions import TypedDict

from rxagent.errors import ConfigurationError
from rxagent.tools import Tool, ToolContext, tool
from rxagent.tools.arguments import Misfit


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Film(BaseModel):
    title: str
    year: int = 1990


@dataclass
class Seat:
    row: int
    tags: list[str] = field(default_factory=list[str])


class Money(TypedDict):
    amount: float
    currency: str


class Opaque:
    """Nothing that JSON knows."""


def properties(made: Tool[..., object]) -> Mapping[str, Any]:
    return cast("dict[str, Any]", made.parameters["properties"])


def checked(made: Tool[..., object], **arguments: object) -> dict[str, object]:
    found = made.check(arguments)
    assert not isinstance(found, Misfit), found
    return found


def misfit(made: Tool[..., object], **arguments: object) -> str:
    found = made.check(arguments)
    assert isinstance(found, Misfit)
    return str(found)


INTEGER, FRACTION = "Input should be a valid integer", "fractional part"
PARAMETERS = "film, seats, day, colour, price, mode, extra, count"


@tool
def book(
    film: Film,
    seats: list[Seat],
    day: Annotated[date, Field(description="Of the show.")],
    colour: Colour = Colour.RED,
    price: Money | None = None,
    mode: Literal["fast", "slow"] = "fast",
    extra: dict[str, int] = {},  # noqa: B006 - what users write
    count: Annotated[int, Field(ge=1, le=9)] = 1,
) -> str:
    """Book seats.

    Args:
        film: Which film.
        seats: Where to sit.
        day: Never read, since the annotation says it.
        count: How often.
    """
    return f"{film} {seats} {day} {colour} {price} {mode} {extra} {count}"


def test_every_kind_of_annotation_is_in_the_schema() -> None:
    assert book.name == "book"
    assert book.description == "Book seats."
    assert book.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["film", "seats", "day"],
        "properties": {
            "film": {"$ref": "#/$defs/Film", "description": "Which film."},
            "seats": {
                "type": "array",
                "items": {"$ref": "#/$defs/Seat"},
                "description": "Where to sit.",
            },
            "day": {"type": "string", "format": "date", "description": "Of the show."},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "price": {
                "anyOf": [{"$ref": "#/$defs/Money"}, {"type": "null"}],
                "default": None,
            },
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            "extra": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "default": {},
            },
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "default": 1,
                "description": "How often.",
            },
        },
        "$defs": {
            "Colour": {"title": "Colour", "type": "string", "enum": ["red", "blue"]},
            "Film": {
                "title": "Film",
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "year": {"type": "integer", "default": 1990},
                },
                "required": ["title"],
            },
            "Money": {
                "title": "Money",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "amount": {"type": "number"},
                    "currency": {"type": "string"},
                },
                "required": ["amount", "currency"],
            },
            "Seat": {
                "title": "Seat",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "row": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["row"],
            },
        },
    }
    assert json.loads(json.dumps(book.parameters)) == book.parameters


def test_arguments_become_the_types_of_the_annotations() -> None:
    arguments = checked(
        book,
        film={"title": "Alien"},
        seats=[{"row": "3"}],
        day="2024-02-29",
        colour="blue",
        price={"amount": 1, "currency": "EUR"},
    )

    assert arguments == {
        "film": Film(title="Alien"),
        "seats": [Seat(row=3)],
        "day": date(2024, 2, 29),
        "colour": Colour.BLUE,
        "price": {"amount": 1.0, "currency": "EUR"},
    }


def test_what_is_left_out_is_left_to_the_functions_own_default() -> None:
    """M-55."""
    nothing = object()

    @tool
    def keep(a: int = 1, b: Any = nothing) -> object:
        return b if a == 1 else None

    assert checked(keep) == {}
    assert keep(**checked(keep)) is nothing  # type: ignore[arg-type]
    assert properties(keep) == {"a": {"type": "integer", "default": 1}, "b": {}}


@pytest.mark.parametrize(
    ("given", "taken"),
    [("2", 2), (2, 2), (2.0, 2), (True, 1)],
    ids=["text", "number", "whole float", "bool"],
)
def test_values_that_mean_the_same_are_coerced(given: object, taken: int) -> None:
    @tool
    def twice(number: int) -> int:
        return 2 * number

    assert checked(twice, number=given) == {"number": taken}


def test_every_problem_is_named_with_its_place() -> None:
    said = misfit(
        book,
        film={"title": 1, "year": "x"},
        seats=[{"row": 1}, {"row": 1.5}],
        colour="green",
        count=0,
        color="red",
    )

    assert [line.partition(": ")[::2] for line in said.splitlines()] == [
        ("- film.title", "Input should be a valid string (got '1')"),
        ("- film.year", f"{INTEGER}, unable to parse string as an integer (got 'x')"),
        ("- seats[1].row", f"{INTEGER}, got a number with a {FRACTION} (got '1.5')"),
        ("- day", "Field required"),
        ("- colour", "Input should be 'red' or 'blue' (got 'green')"),
        ("- count", "Input should be greater than or equal to 1 (got '0')"),
        ("- color", f"there is no such parameter; the parameters are {PARAMETERS}"),
    ]


def test_many_and_long_problems_do_not_fill_the_window() -> None:
    @tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    said = misfit(total, numbers=["x" * 10_000] * 1_000)

    assert "- and 980 more" in said
    assert len(said) < 21 * 310


def test_a_tool_without_parameters_takes_none() -> None:
    @tool
    def now() -> str:
        return "now"

    assert now.parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert checked(now) == {}
    assert misfit(now, zone="UTC") == (
        "- zone: there is no such parameter; it takes none"
    )


def test_strict_types_take_what_json_has() -> None:
    @tool
    def show(day: Annotated[date, Strict()], count: Annotated[int, Strict()]) -> str:
        return f"{day} {count}"

    assert checked(show, day="2024-01-02", count=1) == {
        "day": date(2024, 1, 2),
        "count": 1,
    }
    assert "count" in misfit(show, day="2024-01-02", count="1")


def test_names_that_a_model_class_would_not_take_are_parameters() -> None:
    @tool
    def odd(schema: int, copy: int, model_config: int, _x: int, json: int = 0) -> int:
        return schema + copy + model_config + _x + json

    arguments = {"schema": 1, "copy": 2, "model_config": 3, "_x": 4, "json": 5}

    assert list(properties(odd)) == list(arguments)
    assert checked(odd, **arguments) == arguments


def test_an_alias_in_a_field_does_not_rename_the_parameter() -> None:
    @tool
    def aliased(city: Annotated[str, Field(alias="town")]) -> str:
        return city

    assert list(properties(aliased)) == ["city"]
    assert checked(aliased, city="Bonn") == {"city": "Bonn"}


def test_the_context_is_not_shown_to_the_model() -> None:
    """M-70."""

    @tool
    def who(name: str, ctx: ToolContext) -> str:
        return f"{name} {ctx.call.id}"

    @tool
    def maybe(ctx: Annotated[ToolContext | None, "here"] = None) -> str:
        return str(ctx)

    @tool
    def without(name: str) -> str:
        return name

    assert list(properties(who)) == ["name"]
    assert (who.context_parameter, without.context_parameter) == ("ctx", None)
    assert maybe.context_parameter == "ctx"
    assert "ctx" in misfit(who, name="a", ctx={})


def test_lone_surrogates_do_not_break_the_check() -> None:
    @tool
    def echo(text: str) -> str:
        return text

    assert checked(echo, text="a\ud800") == {"text": "a\ufffd"}


def test_a_default_in_a_field_only_is_refused() -> None:
    def only(a: Annotated[int, Field(default=3)]) -> int:
        return a

    def instead(a: int = Field(3)) -> int:
        return a

    with pytest.raises(ConfigurationError, match=r"tool 'only'.*'a'.*`a: ... = def"):
        tool(only)
    with pytest.raises(ConfigurationError, match=r"tool 'instead'.*'a'.*Annotated"):
        tool(instead)


def with_opaque(fine: int, thing: list[Opaque]) -> str:
    return f"{fine}{thing}"


def with_discriminator(thing: Annotated[int, Field(discriminator="x")]) -> str:
    return f"{thing}"


def with_required(thing: int) -> str:
    return f"{thing}"


with_required.__annotations__["thing"] = Required[int]


@pytest.mark.parametrize("function", [with_opaque, with_discriminator, with_required])
def test_a_type_without_json_is_refused_by_name(function: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        tool(function)

    assert f"tool {function.__name__!r}" in str(caught.value)
    assert "JSON Schema" in str(caught.value)
    assert "parameter 'thing'" in str(caught.value)
