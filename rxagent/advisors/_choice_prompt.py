"""Asking a model to choose a tool, in JSON.

The conversation is made of examples, one of each tool and some of others, because small
models follow what they have just seen and not what they were told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from rxagent.advisors._choice_sample import sample_arguments
from rxagent.advisors._choice_schema import NO_TOOL
from rxagent.advisors._plain_history import as_text
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    UserMessage,
)
from rxagent.requests import JsonSchema, ToolSpec
from rxagent.wire.json_text import is_array, is_object

__all__ = ["choice_messages"]

Json: TypeAlias = Mapping[str, object]

_INSTRUCTION = (
    "Choose a tool and fill in its arguments from the request. Answer in JSON."
)
_MAY_DECLINE = f" If no tool fits, choose {NO_TOOL}."

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
_WORD = re.compile(r"[^\W_]+")
_STRETCH = 4  # letters: most function words are shorter, most word stems are not
_CHATS = ("Good evening!", "Who invented the telephone?")


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
    instruction = _INSTRUCTION + (_MAY_DECLINE if may_decline else "")
    request = _request(messages)
    calls = list(map(_sample_call, tools))
    chats = [(text, {"tool": NO_TOOL}) for text in _CHATS] if may_decline else []
    examples = [
        # What comes late weighs more, so a request that sounds like a tool has the
        # examples of small talk far behind it.
        *([*chats, *calls] if _sounds_like(tools, request.text) else [*calls, *chats]),
        *((text, _call(name, given)) for text, name, given in _EXAMPLES),
    ]
    return (
        SystemMessage.of("\n\n".join([instruction, _listed(tools), *system])),
        *(
            message
            for text, answer in examples
            for message in (UserMessage.of(text), AssistantMessage.of(_json(answer)))
        ),
        request,
    )


def _call(name: str, arguments: Json) -> Json:
    return {"tool": name, "arguments": arguments}


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


def _listed(tools: Sequence[ToolSpec]) -> str:
    return "\n".join(["Tools:", *map(_about, tools)])


def _about(tool: ToolSpec) -> str:
    parameters = ", ".join(_about_parameters(tool.parameters)) or "no arguments"
    return f"- {tool.name}: {tool.description.strip()} ({parameters})"


def _about_parameters(schema: JsonSchema) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    for name, each in properties.items() if is_object(properties) else ():
        facts = each if is_object(each) else {}
        values = facts.get("enum")
        kind = "|".join(map(str, values)) if is_array(values) else facts.get("type", "")
        optional = "" if is_array(required) and name in required else " optional"
        about = facts.get("description", "")
        yield " ".join(f"{name}:{optional} {kind} {about}".split())


def _sounds_like(tools: Sequence[ToolSpec], text: str) -> bool:
    """Whether the request has a stretch of letters of a tool's name or description."""
    stretches = _stretches(text)
    return any(stretches & _stretches(f"{t.name} {t.description}") for t in tools)


def _stretches(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {
        word[at : at + _STRETCH]
        for word in words
        for at in range(len(word) - _STRETCH + 1)
    }


def _sample_call(tool: ToolSpec) -> tuple[str, Json]:
    arguments = sample_arguments(tool.parameters)
    return _request_for(tool, arguments), _call(tool.name, arguments)


def _request_for(tool: ToolSpec, arguments: Json) -> str:
    about = tool.description.strip().partition("\n")[0].rstrip(".") or tool.name
    values = ", ".join(
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else _json(value)}"
        for name, value in arguments.items()
    )
    return f"{about}: {values}." if values else f"{about}."


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
