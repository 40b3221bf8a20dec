from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, RootModel
from typing_extensions import TypedDict

from rxagent.errors import ConfigurationError, InvalidAnswerError
from rxagent.output import OutputType, list_of, output_type


class Film(BaseModel):
    title: str
    year: int


class Films(BaseModel):
    films: list[Film]


@dataclass
class Point:
    x: int
    y: int = 0


class Person(TypedDict):
    name: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date


AGE = {
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
}


LIST_OF_FILMS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
        "required": ["title", "year"],
    },
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Film, '{"title": "Alien", "year": 1979}', Film(title="Alien", year=1979)),
        (Point, '{"x": 1}', Point(1)),
        (Person, '{"name": "Ann"}', {"name": "Ann"}),
        (Node, '{"children": [{}]}', Node(children=[Node()])),
        (Strict, '{"day": "2020-01-31"}', Strict(day=date(2020, 1, 31))),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (int, '{"value": 42}', 42),
        (int, "42", 42),
        (bool, "true", True),
        (str, '{"value": "hello"}', "hello"),
        (str, "hello", "hello"),
        (Colour, "red", Colour.RED),
        (Colour, '"blue"', Colour.BLUE),
        (Literal["a", "b"], " b\n", "b"),
        (Film | int, '{"value": 7}', 7),
        (Film | int, '{"title": "Alien", "year": 1}', Film(title="Alien", year=1)),
        (dict[str, int], '{"value": 1}', {"value": 1}),
        (AGE, '{"age": 40, "undeclared": 1}', {"age": 40, "undeclared": 1}),
        ({"type": "array", "items": {"type": "number"}}, '{"value": [1]}', [1]),
    ],
)
def test_an_answer_is_read_as_what_was_asked_for(
    kind: object, text: str, value: object
) -> None:
    """S000-67, S000-71, M-59."""
    assert output_type(kind).read(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Film, '{"title": "a"}', "year is missing, and is required"),
        (Film, '{"title": 1, "year": 1}', "title should be a valid string, but is 1"),
        (
            Films,
            '{"films": [{"title": "a", "year": 1}, {"title": "b"}]}',
            "films[1].year is missing, and is required",
        ),
        (
            Films,
            '{"films": [{"title": "a", "year": "x"}]}',
            'films[0].year should be a valid integer, but is "x"',
        ),
        (Film, "[]", "the answer should be an object, but is []"),
        (AGE, "{}", "age is missing, and is required"),
        (AGE, '{"age": 1.5}', "age should be of type integer, but is 1.5"),
        (AGE, '{"age": true}', "age should be of type integer, but is true"),
        (AGE, "[1]", "the answer should be of type object, but is [1]"),
        ({"enum": [1, 2]}, "3", "the answer should be one of [1, 2], but is 3"),
    ],
)
def test_the_first_problem_is_a_sentence_with_a_place(
    kind: object, text: str, problem: str
) -> None:
    """S000-68, S000-69, S000-70, M-59."""
    with pytest.raises(InvalidAnswerError) as caught:
        output_type(kind).read(text)
    assert caught.value.problem == problem
    assert caught.value.text == text


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_said_to_be_empty(text: str) -> None:
    """V-22."""
    with pytest.raises(InvalidAnswerError, match="the answer is empty"):
        output_type(Film).read(text)


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(InvalidAnswerError) as caught:
        output_type(int).read(f'"{"x" * 5000}"')
    assert len(str(caught.value)) < 200


def test_references_combinations_and_patterns_are_checked() -> None:
    """S000-72, S001-49."""
    schema = {
        "type": "object",
        "$defs": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}},
        "properties": {"code": {"$ref": "#/$defs/code"}},
        "allOf": [{"required": ["code"]}],
    }
    wanted = output_type(schema)
    assert wanted.read('{"code": "ABC"}') == {"code": "ABC"}
    for bad in ('{"code": "abc"}', "{}"):
        with pytest.raises(InvalidAnswerError, match="code"):
            wanted.read(bad)


def test_several_candidates_give_the_last_that_fits() -> None:
    text = 'A draft {"title": "Draft"}, then {"title": "Alien", "year": 1979} and {}.'
    assert output_type(Film).read(text) == Film(title="Alien", year=1979)


def test_an_echo_of_the_schema_is_not_the_answer() -> None:
    text = f'{Film.model_json_schema()}\n```json\n{{"title": "a", "year": 1}}\n```'
    assert output_type(Film).read(text.replace("'", '"')) == Film(title="a", year=1)


@pytest.mark.parametrize("kind", [Film, AGE, dict[str, int]])
def test_an_object_is_asked_for_as_it_is(kind: object) -> None:
    wanted = output_type(kind)
    assert wanted.asked == wanted.schema


@pytest.mark.parametrize("kind", [Node, RootModel[Film]])
def test_a_root_that_refers_to_an_object_is_asked_for_as_that_object(
    kind: object,
) -> None:
    """Providers refuse a root that does not say that it is an object."""
    wanted = output_type(kind)
    assert "$ref" in wanted.schema
    assert wanted.asked["type"] == "object"
    assert "$ref" not in wanted.asked
    assert not wanted.is_wrapped


TREE = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}
PAIR = {
    "type": "array",
    "items": {"$ref": "#/$defs/pair"},
    "$defs": {
        "pair": {"type": "array", "items": {"$ref": "#/$defs/one"}},
        "one": {"type": "integer"},
    },
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"), [(TREE, [1, [2, []]], [1, ["x"]]), (PAIR, [[1]], [1])]
)
def test_what_is_asked_for_means_the_same_within_an_object(
    schema: dict[str, object], good: object, bad: object
) -> None:
    """A reference to the root leads to where the root has moved."""
    wanted = output_type(schema)
    for asked, good_one, bad_one in (
        (wanted.asked, {"value": good}, {"value": bad}),
        (list_of(wanted).schema, [good], [bad]),
        (list_of(wanted).asked, {"value": [good]}, {"value": [bad]}),
    ):
        validator: Any = Draft202012Validator(dict(asked))
        assert validator.is_valid(good_one)
        assert not validator.is_valid(bad_one)


def test_what_is_no_object_is_asked_for_within_one() -> None:
    """S001-50."""
    wanted: OutputType[object] = output_type(list[Film])
    assert wanted.schema["type"] == "array"
    assert wanted.asked["type"] == "object"
    assert wanted.asked["required"] == ["value"]
    assert wanted.asked["$defs"] == wanted.schema["$defs"]


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "objekt"},
        {"required": "age"},
        {"default": {1, 2}},
        {"$dynamicRef": "#nowhere"},
        OutputType,
        object(),
    ],
)
def test_what_cannot_be_checked_is_refused_at_once(kind: object) -> None:
    """S000-73."""
    with pytest.raises(ConfigurationError):
        output_type(kind)


def test_a_reference_that_leads_nowhere_is_said_and_fetches_nothing() -> None:
    """S000-73."""
    for reference in ("https://example.org/x.json", "#/$defs/film"):
        schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
        with pytest.raises(ConfigurationError, match=re.escape(reference)):
            output_type(schema)


def test_a_schema_may_refer_to_that_of_schemas_and_to_itself() -> None:
    meta = "https://json-schema.org/draft/2020-12/schema"
    assert output_type({"$ref": meta}).read('{"type": "object"}')
    tree = output_type({"type": "array", "items": {"$ref": "#"}})
    assert tree.read("[[], [[]]]") == [[], [[]]]
    with pytest.raises(InvalidAnswerError, match="nested too deeply"):
        output_type({"$ref": "#"}).read("{}")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (list[Film | Point], '[{"title": "a"}]', "[0].year is missing"),
        (Film | int, '{"title": 1, "year": 1}', "title should be a valid string"),
        (dict[str, int], '{"a b": "x"}', "a b should be a valid integer"),
        (list[tuple[int, str]], "[[1, 2]]", "[0][1] should be a valid string"),
        (Film | Cat | Dog, '{"kind": "dog", "age": "x"}', "age should be a valid int"),
        (list[Cat | Dog], '[{"kind": "dog", "age": "x"}]', "[0].age should be"),
        (Cat | Dog, '{"kind": "cow", "age": 1}', "kind should be 'dog'"),
        (Cat | Dog, '{"kind": "cat"}', "name is missing"),
    ],
)
def test_a_place_names_steps_of_the_answer_and_none_of_the_type(
    kind: object, text: str, problem: str
) -> None:
    """S000-69: pydantic's own path has the members of unions in it."""
    with pytest.raises(InvalidAnswerError) as caught:
        output_type(kind).read(text)
    assert caught.value.problem.startswith(problem)


def read_yaml_like(text: str) -> object:
    pairs = [line.split(": ") for line in text.splitlines()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("each line needs a name, a colon and a value")
    return dict(pairs)


def test_the_parser_is_replaceable() -> None:
    """S003-21, S004-28, S000-73."""
    wanted = output_type(Film, parse=read_yaml_like)
    assert wanted.read("title: Alien\nyear: 1979") == Film(title="Alien", year=1979)
    with pytest.raises(InvalidAnswerError, match="each line needs a name"):
        wanted.read("Alien")
    with pytest.raises(InvalidAnswerError, match="year is missing"):
        wanted.read("title: Alien")
    again = output_type(output_type(Film), parse=read_yaml_like)
    assert again.parse is read_yaml_like


@pytest.mark.parametrize("text", ["42", 'say {"a": 1}', "true"])
def test_a_text_that_looks_like_json_is_still_a_text(text: str) -> None:
    assert output_type(str).read(text) == text


def test_a_list_of_a_type_is_checked_by_its_elements() -> None:
    film = {
        "$defs": {"year": {"type": "integer"}},
        "type": "object",
        "properties": {"year": {"$ref": "#/$defs/year"}},
    }
    for kind in (Node, film):
        films = list_of(output_type(kind))
        assert films.asked["$defs"] == output_type(kind).schema["$defs"]
    films = list_of(output_type(film))
    assert films.read('{"value": [{"year": 1}]}') == [{"year": 1}]
    with pytest.raises(InvalidAnswerError, match="element 1 of the answer: year"):
        films.read('[{"year": 1}, {"year": "x"}]')
    with pytest.raises(InvalidAnswerError, match="should be a list"):
        films.read("{}")


def test_what_is_prepared_once_is_not_prepared_again() -> None:
    wanted = output_type(Film)
    assert output_type(wanted) is wanted


@pytest.mark.parametrize("number", ["1e400", "-1e999", "1" * 400 + ".0", "1" * 5000])
@pytest.mark.parametrize("around", ["{}", "So: {}"])
def test_a_number_that_is_too_large_is_a_bad_answer(number: str, around: str) -> None:
    """Python would make infinity of it, or refuse to read it."""
    for kind in (Film, {"type": "object"}, dict[str, object]):
        with pytest.raises(InvalidAnswerError):
            output_type(kind).read(around.format(f'{{"title": "a", "year": {number}}}'))
    with pytest.raises(InvalidAnswerError, match="is not JSON"):
        output_type(float).load(float("inf"))


def test_a_parser_has_to_return_json() -> None:
    def read_film(text: str) -> object:
        return Film.model_validate_json(text)

    film = output_type(Film, parse=read_film)
    with pytest.raises(ConfigurationError, match="only decoded JSON"):
        film.read('{"title": "a", "year": 1}')
    numbers = output_type(float, parse=json.loads)
    with pytest.raises(InvalidAnswerError, match="is not JSON"):
        numbers.read("NaN")
    with pytest.raises(ConfigurationError, match="parse takes a function"):
        output_type(Film, parse=3)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [list[Film], LIST_OF_FILMS])
def test_of_many_problems_the_first_is_told(kind: object) -> None:
    """S000-70: one clear target, and not the last of a long list."""
    text = json.dumps([{"title": "a", "year": 1}, *[{"title": "b"}] * 11])
    with pytest.raises(InvalidAnswerError, match=r"^\[1\]\.year is missing"):
        output_type(kind).read(text)
