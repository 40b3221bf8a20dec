"""Asking for the choice of a tool as JSON, and reading it: for `schema_tools`.

The conversation is made of examples, one of each tool and some of others, because small
models follow what they have just seen and not what they were told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_core import from_json

from rxagent.advisors._plain_history import as_text
from rxagent.advisors._schema_sample import sample_arguments
from rxagent.errors import MalformedResponseError, NoJsonError
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    UserMessage,
)
from rxagent.requests import JsonSchema, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.wire.extract import extract_json
from rxagent.wire.json_text import is_array, is_object

__all__ = ["Choice", "choice_messages", "choice_schema", "read_choice"]

Json: TypeAlias = Mapping[str, object]

_NO_TOOL = "none"
_SHOWN_CHARS = 80  # of a broken answer, in an error
_INSTRUCTION = "Turn the request into JSON for a tool."


# Tools that nobody offers, so that the model can only learn the manner from them.
_EXAMPLES: tuple[tuple[str, str, Json], ...] = (
    (
        "Get me a room in Vienna for 2 nights.",
        "book_hotel",
        {"city": "Vienna", "nights": 2},
    ),
    ("Unlock the garage door.", "lock_door", {"door": "garage", "locked": False}),
    (
        "Note this under 'Ideas': paint the fence green.",
        "save_note",
        {"title": "Ideas", "text": "paint the fence green"},
    ),
)
_CHATS = ("Good evening!", "Who invented the telephone?")


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
        choices.append(_object(tool={"const": _NO_TOOL}))
    schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {**schema, "$defs": definitions} if definitions else schema


def choice_messages(
    messages: Sequence[Message], tools: Sequence[ToolSpec], *, may_decline: bool
) -> tuple[Message, ...]:
    """What to ask a model, for a choice.

    Args:
        messages: The conversation.
        tools: One or more.
        may_decline: Whether the model may choose none of them.
    """
    system = [each.text for each in messages if isinstance(each, SystemMessage)]
    examples: list[tuple[str, Json]] = []
    for tool in tools:
        arguments = sample_arguments(tool.parameters)
        examples.append((_request_for(tool, arguments), _call(tool.name, arguments)))
    if may_decline:
        examples += [(text, {"tool": _NO_TOOL}) for text in _CHATS]
    examples += [(text, _call(name, given)) for text, name, given in _EXAMPLES]
    return (
        SystemMessage.of("\n\n".join([_INSTRUCTION, *system])),
        *(
            message
            for text, answer in examples
            for message in (
                UserMessage.of(text),
                AssistantMessage.of(_json(answer)),
            )
        ),
        _request(messages),
    )


def read_choice(response: ChatResponse, tools: Sequence[ToolSpec]) -> Choice | None:
    """Read a choice.

    Args:
        response: What the model answered.
        tools: Those that it could choose from.

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
    if name == _NO_TOOL and all(tool.name != _NO_TOOL for tool in tools):
        return None
    return Choice(tool=name, arguments=_json(chosen.get("arguments", {})))


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
        arguments = _json(begun["arguments"])
        return Choice(tool=name, arguments=arguments, truncated=True)
    raise _malformed(
        f"the model's choice of a tool was cut off ({_start(text)}); "
        "raise max_choice_tokens"
    )


def _malformed(problem: str) -> MalformedResponseError:
    return MalformedResponseError(f"schema_tools: {problem}")


def _start(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")


def _is_choice(value: object) -> bool:
    return is_object(value) and "tool" in value


def _call(name: str, arguments: Json) -> Json:
    return {"tool": name, "arguments": arguments}


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


def _request(messages: Sequence[Message]) -> UserMessage:
    """The last words of the user, behind what was said before and done since."""
    users = [at for at, each in enumerate(messages) if isinstance(each, UserMessage)]
    at = users[-1] if users else len(messages)
    asked = messages[at] if users else UserMessage.of("Go on.")
    assert isinstance(asked, UserMessage), "the position is that of a user message"
    before, since = as_text(messages[:at]), as_text(messages[at + 1 :])
    head = f"Earlier:\n{before}\n\nRequest: " if before else ""
    tail = f"\n\nDone so far:\n{since}" if since else ""
    if not (head or tail):
        return asked
    return UserMessage(content=(Text(text=head), *asked.content, Text(text=tail)))


def _request_for(tool: ToolSpec, arguments: Json) -> str:
    about = tool.description.strip().partition("\n")[0].rstrip(".") or tool.name
    values = ", ".join(
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else _json(value)}"
        for name, value in arguments.items()
    )
    return f"{about}: {values}." if values else f"{about}."


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
