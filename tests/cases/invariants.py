"""What must hold for every request of a case, in the neutral form of messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.case import Json

__all__ = ["check_invariants", "neutral_messages", "strings"]

_OF_TOOLS = ("tool_use", "tool_result")


def check_invariants(names: list[str], messages: list[Json]) -> None:
    """Check one request.

    Args:
        names: Of the invariants.
        messages: In the neutral form.

    Raises:
        AssertionError: If one does not hold.
        KeyError: If there is no such invariant.
    """
    for name in names:
        _INVARIANTS[name](messages)


def neutral_messages(body: Json, protocol: str = "openai-chat") -> list[Json]:
    """The messages of a body in the neutral form."""
    if protocol == "anthropic-messages":
        return [*_neutral_turns(body)]
    if protocol == "google-generate":
        return [*_neutral_contents(body)]
    return [
        {
            **message,
            "tool_calls": [
                {"id": call["id"], **call["function"]}
                for call in message.get("tool_calls") or ()
            ],
        }
        for message in body["messages"]
    ]


def _neutral_turns(body: Json) -> Iterator[Json]:
    """Those of Anthropic's Messages, whose results are blocks of a user's message."""
    if "system" in body:
        yield {"role": "system", "content": body["system"]}
    for message in body["messages"]:
        blocks: list[Json] = message["content"]
        for block in blocks:
            if block["type"] == "tool_result":
                content = block.get("content", "")
                call_id = block["tool_use_id"]
                yield {"role": "tool", "tool_call_id": call_id, "content": content}
        rest = [each for each in blocks if each["type"] not in _OF_TOOLS]
        calls = [
            {**each, "arguments": json.dumps(each["input"])}
            for each in blocks
            if each["type"] == "tool_use"
        ]
        if rest or calls:
            yield {"role": message["role"], "content": rest, "tool_calls": calls}


def _neutral_contents(body: Json) -> Iterator[Json]:
    """Those of Gemini, whose calls are known by their name if they have no id."""
    if "systemInstruction" in body:
        yield {"role": "system", "content": body["systemInstruction"]["parts"]}
    for content in body["contents"]:
        parts: list[Json] = content["parts"]
        results = [
            each["functionResponse"] for each in parts if "functionResponse" in each
        ]
        for result in results:
            call_id = result.get("id", result["name"])
            said = result["response"]
            yield {"role": "tool", "tool_call_id": call_id, "content": said}
        calls = [
            {
                "id": call.get("id", call["name"]),
                "name": call["name"],
                "arguments": json.dumps(call["args"]),
            }
            for each in parts
            if (call := each.get("functionCall"))
        ]
        if not results:
            role = "assistant" if content["role"] == "model" else content["role"]
            rest = [each for each in parts if "functionCall" not in each]
            yield {"role": role, "content": rest, "tool_calls": calls}


def strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, names of members too."""
    match value:
        case str():
            yield value
        case dict():
            for name, member in value.items():
                yield name
                yield from strings(member)
        case list() | tuple():
            for item in value:
                yield from strings(item)
        case _:
            return


def _paired_tools(messages: list[Json]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"a result of no call: {message}"
            waiting.remove(message["tool_call_id"])
            continue
        if message["role"] in ("user", "assistant"):
            assert not waiting, f"calls without a result: {waiting}"
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting, f"calls without a result: {waiting}"


def _valid_json_args(messages: list[Json]) -> None:
    for message in messages:
        for call in message.get("tool_calls") or ():
            assert isinstance(json.loads(call["arguments"]), dict), call


def _system_first_once(messages: list[Json]) -> None:
    places = [n for n, message in enumerate(messages) if message["role"] == "system"]
    assert places in ([], [0]), f"instructions at {places}"


def _no_empty_assistant(messages: list[Json]) -> None:
    for message in messages:
        if message["role"] == "assistant":
            assert message.get("content") or message.get("tool_calls"), message


def _utf8_encodable(messages: list[Json]) -> None:
    for text in strings(messages):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise AssertionError(f"{text!r} does not fit UTF-8: {error}") from None


_INVARIANTS: dict[str, Callable[[list[Json]], None]] = {
    "paired-tools": _paired_tools,
    "valid-json-args": _valid_json_args,
    "system-first-once": _system_first_once,
    "no-empty-assistant": _no_empty_assistant,
    "utf8-encodable": _utf8_encodable,
}
