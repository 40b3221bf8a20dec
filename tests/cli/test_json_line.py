from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from rxagent.cli.json_line import json_line
from rxagent.context import Context
from rxagent.events import Finished, TextDelta, ToolFinished, ToolProgress
from rxagent.history import load_messages
from rxagent.messages import AssistantMessage, Image, ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.responses import ChatResponse
from rxagent.usage import Usage

CALL = ToolCall(id="c", name="draw")


class Place(BaseModel):
    name: str


@dataclass
class Point:
    x: int


def test_a_line_is_one_line_of_ascii() -> None:
    line = json_line(TextDelta(text="12 °C\n", origin=Origin(run_id="r", path=("a",))))
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {
        "type": "TextDelta",
        "text": "12 °C\n",
        "origin": {"run_id": "r", "path": ["a"], "round": 0},
    }


def test_half_a_surrogate_pair_is_still_json() -> None:
    assert json.loads(json_line(TextDelta(text="\ud83d")))["text"] == "\ud83d"


def test_a_response_is_there_whole_but_for_the_values_of_its_context() -> None:
    response = ChatResponse(
        message=AssistantMessage.of("hi"),
        finish_reason="stop",
        usage=Usage(input_tokens=3, requests=1),
        context=Context({"token": "secret-value"}),
    )
    line = json_line(Finished(response=response))
    found = json.loads(line)["response"]
    assert found["finish_reason"] == "stop"
    assert found["usage"]["input_tokens"] == 3
    assert found["context"] == ["token"]
    assert "secret-value" not in line


def test_a_message_can_be_read_back_with_its_media() -> None:
    message = ToolMessage.of("here", Image(data=b"\xff\xfe\x00"), call=CALL)
    line = json_line(ToolFinished(call=CALL, message=message, value=None))
    (found,) = load_messages(json.dumps([json.loads(line)["message"]]))
    assert found == message
    assert found.id == message.id


def cycle() -> list[object]:
    items: list[object] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Place(name="Oslo"), {"name": "Oslo"}),
        (Point(x=1), {"x": 1}),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"at": "2026-01-01T00:00:00Z"}),
        ({"share": float("nan")}, "{'share': nan}"),
        (Context({"a": 1}), ["a"]),
        (len, "<built-in function len>"),
        (cycle(), "[[...]]"),
    ],
    ids=["pydantic", "dataclass", "date", "nan", "context", "function", "cycle"],
)
def test_whatever_a_tool_reports_can_be_written(value: object, written: object) -> None:
    line = json_line(ToolProgress(call=CALL, value=value))
    assert json.loads(line)["value"] == written
