from __future__ import annotations

import json

import pytest

from rxagent.cli.event_marks import MEANINGS, mark_of
from rxagent.cli.json_line import json_line
from rxagent.events import (
    ApprovalRequested,
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    StageFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.responses import ChatResponse, FinishReason, Limit
from rxagent.usage import Usage

ORIGIN = Origin(run_id="run", path=("outer", "inner"), round=3)
CALL = ToolCall(id="c", name="weather")
ORIGIN_JSON = {"run_id": "r", "path": [], "round": 0}


def response(
    finish_reason: FinishReason = "stop",
    *,
    raw: str | None = None,
    blocked_by: str | None = None,
    limit: Limit | None = None,
) -> ChatResponse:
    return ChatResponse(
        message=AssistantMessage.of("hi"),
        finish_reason=finish_reason,
        finish_reason_raw=raw,
        usage=Usage(input_tokens=3, cache_read_tokens=2, requests=1),
        model="m",
        blocked_by=blocked_by,
        limit=limit,
    )


def finished_tool(*, is_error: bool) -> ToolFinished:
    message = ToolMessage.of("12", call=CALL, is_error=is_error)
    return ToolFinished(call=CALL, message=message, origin=ORIGIN)


def recorded(event: ChatEvent) -> object:
    decoded: object = json.loads(json_line(event))
    return decoded


@pytest.mark.parametrize(
    ("event", "letter", "lane"),
    [
        (TextDelta(text="a", origin=ORIGIN), "t", "inner"),
        (ReasoningDelta(text="a", origin=ORIGIN), "r", "inner"),
        (ToolCallDelta(index=0, origin=ORIGIN), "c", "inner"),
        (RoundFinished(response=response(), origin=ORIGIN), "R", "inner"),
        (Retracted(reason="a guard", origin=ORIGIN), "!", "inner"),
        (StageFinished(stage="rewrite", value=1, origin=ORIGIN), "d", "inner"),
        (ApprovalRequested(call=CALL, origin=ORIGIN), "a", "weather"),
        (ToolStarted(call=CALL, origin=ORIGIN), "s", "weather"),
        (ToolProgress(call=CALL, value=1, origin=ORIGIN), "p", "weather"),
        (finished_tool(is_error=False), "f", "weather"),
        (finished_tool(is_error=True), "x", "weather"),
        (Finished(response=response(), origin=ORIGIN), "F", "inner"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_event_has_a_letter_and_a_lane(
    event: ChatEvent, letter: str, lane: str
) -> None:
    mark = mark_of(recorded(event))
    assert (mark.letter, mark.lane, mark.is_tool) == (letter, lane, lane == "weather")
    assert (mark.run_id, mark.round) == ("run", 3)
    assert (mark.ending is not None) == isinstance(event, Finished)
    assert letter in MEANINGS


def test_a_kind_that_is_newer_than_this_is_a_mark_all_the_same() -> None:
    mark = mark_of({"type": "Paused", "origin": ORIGIN_JSON, "call": 1, "response": 2})
    assert (mark.letter, mark.lane, mark.ending) == ("?", "model", None)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (response(), "stop"),
        (response(raw="stop"), "stop"),
        (response("length", raw="max_tokens"), "length (max_tokens)"),
        (response("blocked", blocked_by="safeguard"), "blocked by safeguard"),
        (
            response("tool_limit", limit=Limit(name="n", value=1, message="enough")),
            "tool_limit: enough",
        ),
    ],
    ids=["plain", "same-word", "other-word", "blocked", "limit"],
)
def test_an_ending_says_why_by_whom_and_for_how_much(
    end: ChatResponse, reason: str
) -> None:
    ending = mark_of(recorded(Finished(response=end, origin=ORIGIN))).ending
    assert ending is not None
    assert (ending.reason, ending.model, ending.usage) == (reason, "m", end.usage)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ([], "type is missing"),
        ({}, "type is missing"),
        ({"type": 1}, "type is missing, or is no str"),
        ({"type": "TextDelta"}, "origin.path is missing"),
        ({"type": "TextDelta", "origin": {"path": []}}, "origin.run_id is missing"),
        ({"type": "ToolStarted", "origin": ORIGIN_JSON}, "call.name is missing"),
        (
            {"type": "ToolFinished", "origin": ORIGIN_JSON, "call": {"name": "a"}},
            "message.is_error is missing",
        ),
        (
            {"type": "Finished", "origin": ORIGIN_JSON},
            "response.finish_reason is missing",
        ),
        (
            {
                "type": "Finished",
                "origin": ORIGIN_JSON,
                "response": {"finish_reason": "stop"},
            },
            "response.usage.requests is missing",
        ),
        (
            {
                "type": "Finished",
                "origin": ORIGIN_JSON,
                "response": {
                    "finish_reason": "stop",
                    "usage": {"input_tokens": "many"},
                },
            },
            "response.usage.input_tokens is missing, or is no int",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_event_is_told_with_what_it_lacks(event: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        mark_of(event)
