from __future__ import annotations

import io
from typing import cast

import pytest

from rxagent.cli.terminal import Terminal
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
from rxagent.messages import AssistantMessage, Refusal, ToolCall, ToolMessage
from rxagent.responses import ChatResponse, FinishReason, Limit

CALL = ToolCall(id="c", name="weather", arguments='{"city":\n"Oslo"}')


def response(
    finish_reason: FinishReason = "stop",
    *,
    message: AssistantMessage | None = None,
    raw: str | None = None,
    blocked_by: str | None = None,
    limit: Limit | None = None,
) -> ChatResponse:
    return ChatResponse(
        message=message or AssistantMessage.of(),
        finish_reason=finish_reason,
        finish_reason_raw=raw,
        blocked_by=blocked_by,
        limit=limit,
    )


def shown(*events: ChatEvent) -> str:
    """What a person sees who has both streams on one screen."""
    screen = io.StringIO()
    terminal = Terminal(out=screen, notes=screen)
    for event in events:
        terminal.show(event)
    terminal.end_line()
    return screen.getvalue()


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolStarted(call=CALL), '-> weather {"city": "Oslo"}'),
        (ToolProgress(call=CALL, value=0.5), ".. weather: 0.5"),
        (
            ToolFinished(call=CALL, message=ToolMessage.of("12\n°C", call=CALL)),
            "<- weather: 12 °C",
        ),
        (
            ToolFinished(
                call=CALL, message=ToolMessage.of("no", call=CALL, is_error=True)
            ),
            "<- weather failed: no",
        ),
        (ApprovalRequested(call=CALL), "?? weather waits for approval"),
        (Retracted(reason="a guard"), "(the text above is void: a guard)"),
        (ReasoningDelta(text="hm"), "(thinking)"),
        (StageFinished(stage="rerank", value=1), "(rerank done)"),
        (
            StageFinished(stage="rerank", value=1, problem="no\nscores"),
            "(rerank left out: no scores)",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_text_is_one_line_that_starts_at_the_margin(
    event: ChatEvent, line: str
) -> None:
    assert shown(TextDelta(text="Hel"), event) == f"Hel\n{line}\n"


def test_a_long_result_is_shown_in_short() -> None:
    message = ToolMessage.of("x" * 1000, call=CALL)
    line = shown(ToolFinished(call=CALL, message=message))
    assert line == f"<- weather: {'x' * 100}...\n"


def test_thinking_is_told_once_a_round() -> None:
    thought = ReasoningDelta(text="hm")
    round_ = RoundFinished(response=response("tool_calls"))
    assert shown(thought, thought, round_, thought) == "(thinking)\n" * 2


def test_text_before_tools_is_told_apart_from_the_answer() -> None:
    screen = shown(
        TextDelta(text="I look."),
        RoundFinished(response=response("tool_calls")),
        TextDelta(text="Cold."),
        Finished(response=response()),
    )
    assert screen == "I look.\n(that was interim text; tools run now)\nCold.\n"


def test_void_text_is_told_apart_from_the_answer() -> None:
    screen = shown(
        ReasoningDelta(text="hm"),
        TextDelta(text="Wrong"),
        Retracted(reason="a guard"),
        ReasoningDelta(text="hm"),
        TextDelta(text="Right."),
        Finished(response=response()),
    )
    assert screen == (
        "(thinking)\nWrong\n(the text above is void: a guard)\n(thinking)\nRight.\n"
    )


def test_where_nothing_was_shown_nothing_is_void() -> None:
    interim: list[ChatEvent] = [
        TextDelta(text="a"),
        RoundFinished(response=response("tool_calls")),
    ]
    assert "void" not in shown(Retracted(reason="a guard"))
    assert "void" not in shown(*interim, Retracted(reason="a guard"))


def test_a_retracted_answer_without_another_one_is_an_empty_answer() -> None:
    retracted: list[ChatEvent] = [TextDelta(text="a"), Retracted(reason="no")]
    last = shown(*retracted, Finished(response=response())).splitlines()[-1]
    assert last == "(the model answered without text)"


def test_a_round_without_text_says_nothing_of_interim_text() -> None:
    assert shown(RoundFinished(response=response("tool_calls"))) == ""


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (response("blocked", blocked_by="safeguard"), "blocked by safeguard"),
        (
            response(
                "tool_limit", limit=Limit(name="max_rounds", value=2, message="enough")
            ),
            "enough",
        ),
        (response("length"), "cut off by the limit on tokens"),
        (response("content_filter"), "content filter"),
        (
            response(
                "refusal", message=AssistantMessage.of(Refusal(text="I may not."))
            ),
            "the model refused: I may not.",
        ),
        (response("unknown", raw="eos_of_doom"), "'eos_of_doom'"),
        (response("paused"), "'paused'"),
    ],
    ids=lambda value: getattr(value, "finish_reason", ""),
)
def test_an_end_that_is_not_the_models_own_is_said(
    end: ChatResponse, says: str
) -> None:
    text, note = shown(TextDelta(text="So"), Finished(response=end)).splitlines()
    assert text == "So"
    assert says in note


@pytest.mark.parametrize("reason", ["stop", "return_direct"])
def test_a_normal_end_says_nothing(reason: FinishReason) -> None:
    end = Finished(response=response(reason))
    assert shown(TextDelta(text="So"), end) == "So\n"


def test_an_empty_answer_says_that_it_is_empty() -> None:
    assert shown(Finished(response=response())) == (
        "(the model answered without text)\n"
    )


def test_pieces_of_calls_and_unknown_events_are_not_shown() -> None:
    unknown = cast("ChatEvent", object())
    assert shown(ToolCallDelta(index=0, name="weather"), unknown) == ""
