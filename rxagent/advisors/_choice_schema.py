"""The choice of a tool as JSON: its schema, and what a model made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_core import from_json

from rxagent.errors import MalformedResponseError, NoJsonError
from rxagent.requests import JsonSchema, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.wire.extract import extract_json
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["NO_TOOL", "Choice", "choice_schema", "read_choice"]

Json: TypeAlias = Mapping[str, object]

NO_TOOL = "none"
"""What the model writes for no tool, without arguments."""

_SHOWN_CHARS = 80  # of a broken answer, in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A tool and its arguments, as the model wrote them."""

    tool: str
    arguments: str = "{}"
    truncated: bool = False


def choice_schema(tools: Sequence[ToolSpec], *, may_decline: bool) -> JsonSchema:
    """The JSON Schema of a choice.

    Args:
        tools: One or more.
        may_decline: Whether the model may choose none of them.
    """
    definitions: dict[str, object] = {}
    choices: list[Json] = []
    for tool in tools:
        arguments: Json = {"additionalProperties": False, **tool.parameters}
        if _has_reference(arguments):
            # What it refers to is inside it, so it moves as a whole.
            place = f"#/$defs/{tool.name}"
            definitions[tool.name] = _moved(arguments, place)
            arguments = {"$ref": place}
        choices.append(_object(tool={"const": tool.name}, arguments=arguments))
    if may_decline:
        choices.append(_object(tool={"const": NO_TOOL}))
    schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {**schema, "$defs": definitions} if definitions else schema


def read_choice(response: ChatResponse) -> Choice | None:
    """Read a choice.

    Args:
        response: What the model answered.

    Returns:
        The choice; ``None`` if it chose no tool.

    Raises:
        MalformedResponseError: If it is no choice, or is cut before its arguments.
    """
    text = response.text
    try:
        chosen = extract_json(text, fits=_is_choice)
    except NoJsonError:
        chosen = None
    if response.finish_reason == "length" and not _is_choice(chosen):
        return _cut_choice(text)
    if not is_object(chosen) or not isinstance(name := chosen.get("tool"), str):
        raise _malformed(
            "the model's choice of a tool is not the JSON that was asked for "
            f"({_start(text)}); does the server heed response_schema?"
        )
    if name == NO_TOOL and "arguments" not in chosen:
        return None
    return Choice(tool=name, arguments=_text(chosen.get("arguments", {})))


def _cut_choice(text: str) -> Choice:
    """A call that must not run, if it is clear of which tool."""
    try:
        begun: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        begun = None
    if (
        is_object(begun)
        and isinstance(name := begun.get("tool"), str)
        and "arguments" in begun
    ):
        arguments = _text(begun["arguments"])
        return Choice(tool=name, arguments=arguments, truncated=True)
    raise _malformed(
        f"the model's choice of a tool was cut off ({_start(text)}); "
        "raise max_choice_tokens"
    )


def _text(value: object) -> str:
    return dump_json(value).decode()


def _malformed(problem: str) -> MalformedResponseError:
    return MalformedResponseError(f"schema_tools: {problem}")


def _start(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")


def _is_choice(value: object) -> bool:
    return is_object(value) and "tool" in value


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _has_reference(schema: object) -> bool:
    if is_object(schema):
        return "$ref" in schema or any(map(_has_reference, schema.values()))
    return is_array(schema) and any(map(_has_reference, schema))


def _moved(schema: object, place: str) -> object:
    """A schema whose references to itself lead to where it has moved."""
    if is_object(schema):
        moved = {key: _moved(value, place) for key, value in schema.items()}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            moved["$ref"] = place + reference[1:]
        return moved
    if is_array(schema):
        return [_moved(each, place) for each in schema]
    return schema
