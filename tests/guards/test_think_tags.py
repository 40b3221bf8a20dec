from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.notification import OnError, OnNext

from rxagent.agent import Agent
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.guards import guard, json_only, think_tags
from rxagent.messages import AssistantMessage, Reasoning, Text, ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, every_cut
from tests.guards.happening import (
    CALL,
    END,
    ROUND,
    VOID,
    failed,
    now,
    played,
    text,
    thought,
)

RESULT = ToolMessage.of("<think>12</think>", call=ToolCall(id="c", name="weather"))
SAID = "<think>hm <b></think>\n\nYes. <think>so</think> No."


def joined(events: list[ChatEvent]) -> tuple[str, str]:
    """The text and the reasoning."""
    texts = [each.text for each in events if isinstance(each, TextDelta)]
    thoughts = [each.text for each in events if isinstance(each, ReasoningDelta)]
    return "".join(texts), "".join(thoughts)


def test_what_is_between_tags_is_reasoning_wherever_they_are_cut() -> None:
    for pieces in every_cut(SAID):
        events = now(think_tags(), *map(text, pieces), END)
        assert joined(events) == ("Yes. No.", "hm <b>so"), pieces
        assert events[-1] is END


def test_the_prompt_may_have_opened_the_first_block() -> None:
    guarded = think_tags(starts_in_thinking=True)
    assert now(guarded, text("hm</think>Yes"), END) == [thought("hm"), text("Yes"), END]


def test_only_what_may_be_a_tag_is_held() -> None:
    found, _ = played(think_tags(), [(1, text("a <th")), (2, text("en b"))])
    assert found == [(1, OnNext(text("a "))), (2, OnNext(text("<then b")))]


@pytest.mark.parametrize("end", [ROUND, END])
def test_what_was_no_tag_leaves_before_the_end(end: Any) -> None:
    """S002-4."""
    assert now(think_tags(), text("a <thi"), end) == [text("a "), text("<thi"), end]
    assert now(think_tags(), text("a <thi")) == [text("a "), text("<thi")]


def test_an_error_and_a_retraction_drop_what_is_held() -> None:
    """S002-6."""
    broken = OSError("broken")
    found, _ = played(think_tags(), [(1, text("<th"))], failed(2, broken))
    assert found == [(2, OnError(broken))]
    assert now(think_tags(), text("<th"), CALL, VOID, text("ink>")) == [
        CALL,
        VOID,
        text("ink>"),
    ]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("ink>hm", [CALL, thought("hm")]),
        ("is", [text("<th"), CALL, text("is")]),
        ("", [text("<th"), CALL]),
        ("<think>hm", [text("<th"), CALL, thought("hm")]),
    ],
)
def test_an_event_keeps_its_place_behind_text_that_is_held(
    after: str, expected: list[ChatEvent]
) -> None:
    assert now(think_tags(), text("<th"), CALL, text(after)) == expected


def test_an_event_waits_as_long_as_a_tag_may_come() -> None:
    found = now(think_tags(), text("<"), CALL, text("thi"), CALL, text("nk>a"))
    assert found == [CALL, CALL, thought("a")]


def test_each_round_starts_anew() -> None:
    """S002-9."""
    found = now(think_tags(), text("<think>a"), ROUND, text("b"), END)
    assert found == [thought("a"), ROUND, text("b"), END]


def test_a_piece_keeps_its_origin() -> None:
    origin = Origin(run_id="r", path=("ada",))
    found = now(think_tags(), TextDelta(text="<think>a</think>b<", origin=origin))
    origins = [each.origin for each in found]
    assert len(origins) == 3
    assert all(each is origin for each in origins)


def test_the_response_says_what_the_model_said_unless_it_is_asked_to() -> None:
    model = ScriptedModel(SAID, repeat_last=True)
    kept = Agent(model, advisors=[guard(think_tags())]).call("hi").run()
    split = Agent(model, advisors=[guard(think_tags(answer=True))]).call("hi").run()

    assert kept.text == SAID
    assert (split.text, split.reasoning) == ("Yes. No.", "hm <b>so")
    assert split.transcript == (split.message,)


def test_the_parts_of_an_answer_stay_in_their_order() -> None:
    call = ToolCall(id="c", name="weather")
    message = AssistantMessage.of("<thi", "nk>hm</think>a", call, "b<th")
    end = Finished(
        response=ChatResponse(message=message, transcript=(message, RESULT, message))
    )

    [found] = now(think_tags(answer=True), end)

    assert isinstance(found, Finished)
    assert found.response.message.content == (
        Reasoning(text="hm"),
        Text(text="a"),
        call,
        Text(text="b"),
        Text(text="<th"),
    )
    assert found.response.message.id == message.id
    split = found.response.message
    assert found.response.transcript == (split, RESULT, split)


def test_a_guard_behind_it_sees_the_text_alone() -> None:
    reply = Reply(deltas=('<think>{"a": 0}</th', 'ink>{"a"', ": 1}"))
    agent = Agent(ScriptedModel(reply), advisors=[guard(think_tags(), json_only())])
    assert "".join(agent.stream("hi").text()) == '{"a": 1}'


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<", "/", "think>", "a", " "]).map(text)
        | st.just(CALL)
    )
)
def test_events_between_texts_never_change_the_texts(events: list[ChatEvent]) -> None:
    alone = [each for each in events if each is not CALL]

    found = now(think_tags(), *events)

    assert joined(found) == joined(now(think_tags(), *alone))
    assert found.count(CALL) == events.count(CALL)
