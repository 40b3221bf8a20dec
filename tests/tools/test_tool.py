from __future__ import annotations

import doctest
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any, assert_type

import pytest

from rxagent.errors import ConfigurationError, ToolError
from rxagent.requests import ToolSpec
from rxagent.tools import Tool, ToolContext, tool, tool_index
from rxagent.tools.arguments import Misfit

SEATS = {
    "type": "object",
    "properties": {"day": {"type": "string"}, "seats": {"type": "integer"}},
    "required": ["day", "seats"],
    "additionalProperties": False,
}


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(name="plus-1", description="Adds one.")
async def increment(a: int) -> int:
    """Not shown."""
    return a + 1


def test_a_tool_is_a_spec_and_still_the_function() -> None:
    assert isinstance(add, ToolSpec)
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert_type(add(1, b=2), int)
    assert add(1, b=2) == 3


def test_name_and_description_can_be_given() -> None:
    assert (increment.name, increment.description) == ("plus-1", "Adds one.")
    assert tool(add.function, name="sum", description="").description == ""


def test_a_tool_is_a_value() -> None:
    assert tool(add.function) == add
    assert replace(add, name="sum").name == "sum"
    with pytest.raises(FrozenInstanceError):
        add.name = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    assert "function" not in repr(add)


@pytest.mark.parametrize(
    "name", ["catalog.query", "read file", "", "x" * 65, "größe", "<lambda>", "a\n"]
)
def test_a_name_that_a_provider_refuses_is_refused_and_shown(name: str) -> None:
    """Case loop-tool-names."""
    with pytest.raises(ConfigurationError) as caught:
        tool(add.function, name=name)
    assert repr(name) in str(caught.value)
    with pytest.raises(ConfigurationError):
        replace(add, name=name)
    with pytest.raises(ConfigurationError):
        tool_index([ToolSpec(name=name, description="", parameters={})])


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match=r"<lambda>.*name="):
        tool(lambda: 1)

    assert tool(lambda: 1, name="one")() == 1


def test_tools_are_found_by_name_in_their_order() -> None:
    declared = ToolSpec(name="open", description="", parameters={})

    index = tool_index([increment, declared, add])

    assert list(index.items()) == [
        ("plus-1", increment),
        ("open", declared),
        ("add", add),
    ]


def test_two_tools_of_one_name_are_refused_and_both_are_named() -> None:
    """M-53."""
    other = tool(len_of, name="add")
    declared = ToolSpec(name="add", description="Elsewhere.", parameters={})

    with pytest.raises(ConfigurationError, match=r"'add'.*test_tool\.add .*\.len_of"):
        tool_index([add, other])
    with pytest.raises(ConfigurationError, match=r"'add'.*test_tool\.add .*Elsewhere"):
        tool_index([add, declared])


def len_of(text: str) -> int:
    return len(text)


def from_schema(parameters: dict[str, Any]) -> Tool[..., object]:
    return Tool.from_schema(
        echo, name="book", description="Book seats.", parameters=parameters
    )


def echo(**arguments: object) -> object:
    return arguments


def test_a_json_schema_and_a_function_are_a_tool() -> None:
    made = from_schema(SEATS)

    assert (made.name, made.description) == ("book", "Book seats.")
    assert made.parameters is SEATS
    assert made.check({"day": "Mon", "seats": 2}) == {"day": "Mon", "seats": 2}
    assert made(day="Mon") == {"day": "Mon"}


def test_arguments_that_miss_a_json_schema_are_named() -> None:
    """Case loop-arguments-miss-schema."""
    found = from_schema(SEATS).check({"seats": "two", "row": 1})

    assert isinstance(found, Misfit)
    assert str(found).splitlines() == [
        "- seats: 'two' is not of type 'integer'",
        "- 'day' is a required property",
        "- Additional properties are not allowed ('row' was unexpected)",
    ]


def test_a_problem_deep_in_a_json_schema_has_its_place() -> None:
    rows = {"type": "array", "items": {"$ref": "#/$defs/row"}}
    made = from_schema(
        {
            "type": "object",
            "properties": {"rows": rows},
            "$defs": {"row": {"properties": {"n": {"type": "integer"}}}},
        }
    )

    found = made.check({"rows": [{"n": 1}, {"n": "x"}]})

    assert str(found) == "- rows[1].n: 'x' is not of type 'integer'"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"type": "object", "properties": {"a": {"type": "txt"}}}, "properties.a.type"),
        ({"type": "object", "required": "a"}, "required: "),
        ({"type": "array"}, "of type 'array'"),
        ({}, "of type None"),
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(
    parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        from_schema(parameters)
    assert "tool 'book'" in str(caught.value)


def test_a_reference_is_never_fetched() -> None:
    remote = {"$ref": "http://127.0.0.1:9/schema.json"}
    made = from_schema({"type": "object", "properties": {"a": remote}})

    with pytest.raises(ToolError, match=r"'book'.*\$ref.*schema\.json"):
        made.check({"a": 1})


def test_the_context_of_a_json_schema_tool_is_found_by_annotation() -> None:
    def note(ctx: ToolContext, *rest: str, **arguments: str) -> str:
        return f"{ctx}{rest}{arguments}"

    made = Tool.from_schema(
        note, name="note", description="", parameters={"type": "object"}
    )

    assert made.context_parameter == "ctx"
    with pytest.raises(ConfigurationError, match="'ctx' is a property"):
        Tool.from_schema(
            note,
            name="note",
            description="",
            parameters={"type": "object", "properties": {"ctx": {}}},
        )


def test_jsonschema_is_imported_by_those_who_need_it() -> None:
    program = (
        "import sys, rxagent.tools as t\n"
        "before = 'jsonschema' in sys.modules\n"
        "t.Tool.from_schema(print, name='a', description='', "
        "parameters={'type': 'object'})\n"
        "print(before, 'jsonschema' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "True"]


def test_the_example_of_the_docstring_is_true() -> None:
    done = doctest.testmod(sys.modules[Tool.__module__])

    assert (done.failed, done.attempted) == (0, 2)
