from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import (
    BadRequestError,
    ContextLengthError,
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    ProviderStreamError,
    RateLimitError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.events import ReasoningDelta, TextDelta, ToolCallDelta
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from rxagent.responses import ChatResponse
from rxagent.testing import assert_cut_anywhere
from rxagent.usage import Usage
from rxagent.wire import OpenAIResponsesDialect
from tests.wire.openai_responses.decoding import (
    REQUEST,
    SSE,
    Outcome,
    decode,
    failure,
)
from tests.wire.openai_responses.streams import (
    ANSWERS,
    Item,
    Json,
    called,
    events_of,
    message,
    other,
    reasoning,
    refused,
    response,
    sse,
)

JSON = "application/json"


def opaque(data: Json) -> Opaque:
    compact = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Opaque(dialect="openai responses", data=compact)


def frame(item: Item) -> Opaque:
    held = ("content", "arguments", "call_id", "name")
    return opaque({key: each for key, each in item.whole.items() if key not in held})


def parts_of(*items: Item) -> tuple[AssistantPart, ...]:
    """The parts that a message has of these items."""
    reasons = any(item.whole["type"] == "reasoning" for item in items)
    parts: list[AssistantPart] = []
    for item in items:
        whole = item.whole
        match whole["type"]:
            case "message":
                if reasons or "phase" in whole:
                    parts.append(frame(item))
                for part in whole["content"]:
                    if part["type"] == "refusal":
                        parts.append(Refusal(text=part["refusal"]))
                    else:
                        parts.append(Text(text=part["text"]))
            case "function_call":
                if reasons:
                    parts.append(frame(item))
                call = ToolCall(
                    id=whole["call_id"],
                    name=whole["name"],
                    arguments=whole["arguments"],
                )
                parts.append(call)
            case "reasoning":
                parts += [Reasoning(text=part["text"]) for part in whole["summary"]]
                parts.append(opaque(whole))
            case _:
                parts.append(opaque(whole))
    return tuple(parts)


ITEMS = (
    reasoning(["I ", "see"], ["so"]),
    other(),
    message(["Hel", "lo 北京"]),
    called("f", '{"x"', ": 1}"),
)
ANSWER = sse(events_of(*ITEMS))


def test_an_answer_is_a_delta_for_each_of_the_wire_and_its_end() -> None:
    """S001-91 to S001-96, S001-98, M-56, M-57."""
    outcome = decode(ANSWER)

    assert outcome.events[:-1] == [
        ReasoningDelta(text="I "),
        ReasoningDelta(text="see"),
        ReasoningDelta(text="so"),
        TextDelta(text="Hel"),
        TextDelta(text="lo 北京"),
        ToolCallDelta(index=0, id="call_1", name="f"),
        ToolCallDelta(index=0, arguments='{"x"'),
        ToolCallDelta(index=0, arguments=": 1}"),
    ]
    answered = AssistantMessage.of(
        Reasoning(text="I see"),
        Reasoning(text="so"),
        opaque(ITEMS[0].whole),
        opaque(ITEMS[1].whole),
        frame(ITEMS[2]),
        "Hello 北京",
        frame(ITEMS[3]),
        ToolCall(id="call_1", name="f", arguments='{"x": 1}'),
    )
    assert outcome.response == ChatResponse(
        message=answered,
        finish_reason="tool_calls",
        finish_reason_raw="completed",
        usage=Usage(
            input_tokens=5,
            cache_read_tokens=4,
            cache_write_tokens=0,
            output_tokens=5,
            reasoning_tokens=2,
            reported_total_tokens=14,
            requests=1,
            basis="declared",
        ),
        model="m-1",
        id="resp_1",
        context=REQUEST.context,
        transcript=(answered,),
    )
    assert {event.origin for event in outcome.events} == {REQUEST.origin}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_answer_is_the_same_wherever_it_is_cut(line_end: bytes) -> None:
    assert_cut_anywhere(
        lambda: OpenAIResponsesDialect().decoder(REQUEST, content_type=SSE),
        sse(events_of(reasoning(["hm"]), called("f", "{}"))).replace(b"\n", line_end),
    )


def test_a_response_in_one_piece_says_what_a_streamed_one_says() -> None:
    """Law 3, S001-95; also where a stream was asked for."""
    whole = json.dumps(response(*ITEMS)).encode()

    for content_type in (JSON, SSE):
        outcome = decode(whole, content_type=content_type)
        assert outcome.response == decode(ANSWER).response
    assert TextDelta(text="Hello 北京") in outcome.events
    assert_cut_anywhere(
        lambda: OpenAIResponsesDialect().decoder(REQUEST, content_type=JSON), whole
    )


def test_two_decoders_share_nothing() -> None:
    dialect = OpenAIResponsesDialect()
    one = dialect.decoder(REQUEST, content_type=SSE)
    two = dialect.decoder(REQUEST, content_type=SSE)
    list(one.feed(ANSWER))

    with pytest.raises(EmptyStreamError):
        two.flush()


def test_text_without_reasoning_is_a_message_of_text_alone() -> None:
    assert decode(sse(events_of(message(["a"])))).response.message == (
        AssistantMessage.of("a")
    )


def test_the_phase_of_a_message_stands_before_its_text() -> None:
    said = message(["Let me look."], phase="commentary")

    content = decode(sse(events_of(said))).response.message.content

    assert content == (frame(said), Text(text="Let me look."))


@pytest.mark.parametrize(
    ("status", "why", "calls", "reason"),
    [
        ("completed", None, False, "stop"),
        ("completed", None, True, "tool_calls"),
        ("incomplete", "max_output_tokens", False, "length"),
        ("incomplete", "max_output_tokens", True, "length"),
        ("incomplete", "content_filter", False, "content_filter"),
        ("incomplete", "content_filter", True, "content_filter"),
        ("incomplete", "steered", False, "unknown"),
        ("incomplete", None, True, "unknown"),
    ],
)
def test_the_status_decides_the_finish_reason_and_whether_the_last_call_may_run(
    status: str, why: str | None, calls: bool, reason: str
) -> None:
    items = [message(["a"]), *([called("f", "{}")] if calls else [])]
    details = {"reason": why} if why else None

    data = sse(events_of(*items, status=status, incomplete_details=details))
    answered = decode(data).response

    assert (answered.finish_reason, answered.finish_reason_raw) == (
        reason,
        why or status,
    )
    cut = status == "incomplete"
    assert [call.truncated for call in answered.tool_calls] == [cut] * calls


def test_the_status_counts_more_than_the_name_of_the_event() -> None:
    """As some servers end every stream with response.completed."""
    events = events_of(
        message(["a"]),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    events[-1]["type"] = "response.completed"

    assert decode(sse(events)).response.finish_reason == "length"
    assert decode(sse([{"type": "response.completed"}])).response.text == ""


def test_a_refusal_is_its_own_part_and_its_own_reason() -> None:
    answered = decode(sse(events_of(refused("I can't ", "help.")))).response

    assert answered.message.content == (Refusal(text="I can't help."),)
    assert (answered.text, answered.finish_reason) == ("", "refusal")


def test_raw_reasoning_is_reasoning_too() -> None:
    """As servers with open weights send it: it is not encrypted."""
    thought = {"type": "reasoning_text", "text": "hm, well"}
    item = {"id": "rs", "type": "reasoning", "summary": [], "content": [thought]}
    events: list[Json] = [
        {"type": "response.output_item.added", "item": {**item, "content": None}},
        {"type": "response.reasoning_text.delta", "item_id": "rs", "delta": "hm, "},
        {"type": "response.reasoning_text.delta", "item_id": "rs", "delta": "well"},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": response()},
    ]

    content = decode(sse(events)).response.message.content

    assert content == (Reasoning(text="hm, well"), opaque(item))


def bare(event: Json) -> Json:
    """An event as llama.cpp sends it: without any place or number."""
    places = ("output_index", "content_index", "summary_index", "sequence_number")
    return {key: value for key, value in event.items() if key not in places}


def test_events_may_say_no_place() -> None:
    items = (reasoning(["hm"]), message(["a", "b"]), called("f", "{", "}"))

    bared = decode(sse(map(bare, events_of(*items))))

    assert bared.events == decode(sse(events_of(*items))).events


def test_a_call_without_an_id_of_its_own_is_found_by_the_id_of_the_call() -> None:
    """As llama.cpp sends it, all items done at the end."""

    def call(number: int, arguments: str) -> Json:
        return {
            "type": "function_call",
            "call_id": f"fc_{number}",
            "name": "f",
            "arguments": arguments,
        }

    kind = "response.function_call_arguments.delta"
    thought = {"id": "rs", "type": "reasoning", "summary": [], "content": []}
    spoken = {"type": "reasoning_text", "text": "hm"}
    whole = {**thought, "content": [spoken], "encrypted_content": ""}
    events: list[Json] = [
        {"type": "response.output_item.added", "item": thought},
        {"type": "response.reasoning_text.delta", "item_id": "rs", "delta": "hm"},
        {"type": "response.output_item.added", "item": call(1, "")},
        {"type": kind, "item_id": "fc_1", "delta": '{"x":'},
        {"type": kind, "item_id": "fc_1", "delta": "1}"},
        {"type": "response.output_item.added", "item": call(2, "")},
        {"type": kind, "item_id": "fc_2", "delta": '{"x":2}'},
        {"type": "response.output_item.done", "item": whole},
        {"type": "response.output_item.done", "item": call(1, '{"x":1}')},
        {"type": "response.output_item.done", "item": call(2, '{"x":2}')},
    ]
    done = [event["item"] for event in events[-3:]]
    end = {**response(), "output": done}

    outcome = decode(sse([*events, {"type": "response.completed", "response": end}]))

    assert outcome.response.message.content[:2] == (
        Reasoning(text="hm"),
        opaque(whole),
    )
    assert outcome.response.tool_calls == (
        ToolCall(id="fc_1", name="f", arguments='{"x":1}'),
        ToolCall(id="fc_2", name="f", arguments='{"x":2}'),
    )


def test_items_of_different_kinds_may_claim_one_place() -> None:
    """As gateways number the items of each kind apart."""
    events = events_of(reasoning(["hm"]), message(["a"]), called("f", "{}"))
    for event in events:
        if "output_index" in event:
            event["output_index"] = 0

    outcome = decode(sse(events))

    assert (outcome.response.text, outcome.response.reasoning) == ("a", "hm")
    assert [call.arguments for call in outcome.response.tool_calls] == ["{}"]


def test_calls_of_one_place_are_told_apart_by_their_ids() -> None:
    one = called("f", '{"x":1}', call_id="a", item_id="fc_a")
    two = called("f", '{"x":2}', call_id="b", item_id="fc_b")
    events = events_of(one, two)
    for event in events:
        if "output_index" in event:
            event["output_index"] = 0

    calls = decode(sse(events)).response.tool_calls

    assert [(call.id, call.arguments) for call in calls] == [
        ("a", '{"x":1}'),
        ("b", '{"x":2}'),
    ]


def test_items_of_one_place_that_are_only_told_whole_are_told_apart() -> None:
    def done(item: Item) -> Json:
        return {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item.whole,
        }

    one = called("f", "{}", call_id="a", item_id="fc_a")
    events: list[Json] = [
        {"type": "response.output_item.added", "output_index": 0, "item": one.start},
        done(called("g", "{}", call_id="b", item_id="fc_b")),
        done(one),
        done(message(["x"], item_id="msg_1")),
        done(message(["y"], item_id="msg_2")),
        {"type": "response.completed", "response": {}},
    ]

    answered = decode(sse(events)).response

    assert [(call.id, call.name) for call in answered.tool_calls] == [
        ("a", "f"),
        ("b", "g"),
    ]
    assert answered.text == "xy"


@pytest.mark.parametrize("placed", [True, False])
def test_an_item_may_change_its_id_with_each_event(placed: bool) -> None:
    """As Copilot and mistral.rs do."""
    events = events_of(reasoning(["h", "m"]), message(["a", "b"]))
    for number, event in enumerate(events):
        if "item_id" in event:
            event["item_id"] = f"other_{number}"
        if "item" in event:
            event["item"] = {**event["item"], "id": f"other_{number}"}
    output = events[-1]["response"]["output"]
    events[-1]["response"]["output"] = [{**each, "id": "new"} for each in output]

    outcome = decode(sse(events if placed else map(bare, events)))

    assert (outcome.response.text, outcome.response.reasoning) == ("ab", "hm")
    assert len(outcome.events) == 5


def test_an_item_may_come_without_its_announcement() -> None:
    events = [
        event
        for event in events_of(*ITEMS)
        if event["type"] != "response.output_item.added"
    ]

    assert decode(sse(events)).response == decode(ANSWER).response


def test_an_announcement_may_come_twice() -> None:
    events = events_of(called("f", "{}"))

    outcome = decode(sse([*events[:3], events[2], *events[3:]]))

    assert outcome.events == decode(sse(events)).events


@pytest.mark.parametrize("output", [None, []])
def test_a_finished_response_may_leave_its_output_out(
    output: list[Json] | None,
) -> None:
    events = events_of(*ITEMS)
    events[-1]["response"]["output"] = output

    assert decode(sse(events)).response == decode(ANSWER).response


def test_a_finished_response_may_lack_items_that_were_done() -> None:
    events = events_of(*ITEMS)
    events[-1]["response"]["output"] = [{**ITEMS[2].whole, "id": "made_up"}]

    assert decode(sse(events)).response == decode(ANSWER).response


def test_a_finished_response_may_have_items_that_never_came() -> None:
    """They stand where it has them."""
    events = events_of(*ITEMS)
    streamed = [each for each in events if each.get("output_index") in (None, 3)]

    assert decode(sse(streamed)).response == decode(ANSWER).response


def test_what_only_the_whole_says_is_delivered_and_what_it_repeats_is_not() -> None:
    events = events_of(message(["a", "b"], ["c"]))
    cut = [each for each in events if each.get("delta") not in ("b", "c")]

    outcome = decode(sse(cut))

    assert outcome.events[:-1] == [
        TextDelta(text="a"),
        TextDelta(text="b"),
        TextDelta(text="c"),
    ]
    assert outcome.response.message == AssistantMessage.of("ab", "c")


@pytest.mark.parametrize("place", [5, 6])
def test_a_whole_that_comes_too_early_ends_nothing(place: int) -> None:
    """As a proxy closes an item after its first piece, and goes on."""
    events = events_of(message(["a", "b"]))
    early = {"type": "output_text", "text": "a"}
    done = {**events[2], "type": "response.output_item.done"}
    done["item"] = {**events[2]["item"], "content": [early]}

    outcome = decode(sse([*events[:place], done, *events[place:]]))

    assert outcome.response.text == "ab"


def test_where_the_whole_differs_from_its_pieces_it_counts() -> None:
    """As a proxy sends a piece twice.  Law 4: delivery is not the answer."""
    events = events_of(message(["a", "b"]), called("f", "{", "}"))
    doubled = [
        copy
        for event in events
        for copy in [event] * (2 if event.get("delta") in ("a", "{") else 1)
    ]

    outcome = decode(sse(doubled))

    assert outcome.events[:3] == [TextDelta(text=text) for text in "aab"]
    assert outcome.response.text == "ab"
    assert outcome.response.tool_calls[0].arguments == "{}"


def test_arguments_may_come_as_the_object_that_they_say() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": {"x": 1}}

    data = json.dumps({"object": "response", "status": "completed", "output": [item]})
    [call] = decode(data.encode()).response.tool_calls

    assert call == ToolCall(id="c", name="f", arguments='{"x":1}')


@pytest.mark.parametrize("streamed", [True, False])
def test_calls_of_one_id_get_ids_of_their_own(streamed: bool) -> None:
    items = (called("f", "{}", item_id="fc_1"), called("g", "{}", item_id="fc_2"))
    whole = json.dumps(response(*items)).encode()

    outcome = decode(sse(events_of(*items)) if streamed else whole)

    one, two = outcome.response.tool_calls
    assert (one.name, two.name) == ("f", "g")
    assert one.id == "call_1" != two.id


UNKNOWN: list[Json | bytes] = [
    b": keep-alive\n\n",
    b"event: ping\ndata: pong\n\n",
    b"event: keepalive\ndata: [1]\n\n",
    b"data: : keepalive\n\n",
    b"data:\n\n",
    b"retry: 5\nid: 7\n\n",
    {"type": "response.new_thing", "output_index": 0, "delta": "x"},
    {"type": 5},
    {"type": "keepalive", "sequence_number": 3},
    {"type": "response.mcp_call.failed", "error": {"message": "of a tool"}},
    {"type": "response.output_text.annotation.added", "annotation": {}},
]


@given(ANSWERS, st.data())
def test_any_answer_is_the_same_wherever_it_is_cut_and_whatever_comes_between(
    items: tuple[Item, ...], data: st.DataObject
) -> None:
    """Unknown events, unknown members, comments."""
    sprinkled: list[Json | bytes] = []
    for event in events_of(*items):
        sprinkled += data.draw(st.lists(st.sampled_from(UNKNOWN), max_size=2))
        sprinkled.append({**event, "new": [1], "obfuscation": "zzz"})
    stream = sse([*sprinkled, *data.draw(st.sampled_from([[], [b"data: [DONE]\n\n"]]))])
    cuts = data.draw(st.lists(st.integers(1, max(len(stream) - 1, 1)), max_size=6))
    places = sorted({0, len(stream), *cuts})

    outcome = decode([stream[start:end] for start, end in pairwise(places)])

    assert outcome.response.message.content == parts_of(*items)
    assert outcome.events == decode(sse(events_of(*items))).events
    whole = json.dumps(response(*items)).encode()
    assert decode(whole, content_type=JSON).response == outcome.response


@given(ANSWERS, st.integers(0, 3))
def test_what_was_lost_on_the_way_is_in_the_message(
    items: tuple[Item, ...], missing: int
) -> None:
    """As a proxy swallows the first events: the whole items have it."""
    *events, end = events_of(*items)
    del events[2 : 2 + missing]

    outcome = decode(sse([*events, end]))

    assert outcome.response.text == said_in(items, "text")
    assert outcome.response.message.refusal == said_in(items, "refusal")
    assert [call.arguments for call in outcome.response.tool_calls] == [
        item.whole["arguments"]
        for item in items
        if item.whole["type"] == "function_call"
    ]


def said_in(items: tuple[Item, ...], member: str) -> str:
    """What the messages among the items say."""
    parts = [part for item in items for part in item.whole.get("content", [])]
    return "".join(part.get(member, "") for part in parts)


@given(ANSWERS, st.data())
def test_an_answer_without_its_end_is_an_error_and_never_a_short_answer(
    items: tuple[Item, ...], data: st.DataObject
) -> None:
    events = events_of(*items)
    kept = data.draw(st.integers(1, len(events) - 1))
    stream = sse(events[:kept])
    cut = data.draw(st.integers(len(sse(events[: kept - 1])) + 40, len(stream)))

    for ending in (b"", b"data: [DONE]\n\n"):
        outcome = decode([stream[:cut], *([ending] if cut == len(stream) else [])])
        assert isinstance(outcome.error, TruncatedStreamError)


def test_nothing_after_the_end_is_read() -> None:
    late: list[Json | bytes] = [
        {"type": "response.output_text.delta", "delta": "late"},
        {"type": "error", "message": "late"},
        b"data: {\n\n",
    ]

    outcome = decode(ANSWER + sse(late))

    assert outcome.events == decode(ANSWER).events


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
            RateLimitError,
            "slow down",
        ),
        (
            {"type": "error", "code": None, "message": "boom", "param": None},
            ProviderStreamError,
            "boom",
        ),
        (
            {"type": "error", "error": {"type": "server_error", "message": "oh"}},
            ServerError,
            "oh",
        ),
        ({"error": {"code": 500, "message": "oh"}}, ServerError, "oh"),
        ({"type": "bad", "error": {"message": "oh"}}, ProviderStreamError, "oh"),
    ],
)
def test_an_error_event_is_a_typed_error(
    event: Json, kind: type[ModelError], words: str
) -> None:
    begun = events_of(message(["a"]))[:5]

    outcome = decode(sse([*begun, event]))

    assert outcome.events == [TextDelta(text="a")]
    assert type(outcome.error) is kind
    assert words in str(outcome.error)
    assert "code: error" not in str(outcome.error)


@pytest.mark.parametrize("data", [b'"words"', b"words", b'{"message": "words"}'])
def test_an_event_by_the_name_of_error_is_one_whatever_it_holds(data: bytes) -> None:
    assert "words" in str(failure(b"event: error\ndata: %b\n\n" % data))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "The model broke."}, ServerError),
        ({"code": "rate_limit_exceeded", "message": "Slow down."}, RateLimitError),
        ({"code": "invalid_prompt", "message": "No."}, BadRequestError),
        ({"code": "image_too_large", "message": "No."}, BadRequestError),
        ({"code": "vector_store_timeout", "message": "Slow."}, ServerError),
        ({"code": "bio_policy", "message": "No."}, ProviderStreamError),
        (
            {"code": "context_length_exceeded", "message": "exceeds the context"},
            ContextLengthError,
        ),
        (None, ProviderStreamError),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_a_response_that_failed_is_a_typed_error_with_what_came_and_its_cost(
    error: Json | None, kind: type[ModelError], streamed: bool
) -> None:
    items = (message(["a"]),)
    failed = response(*items, status="failed", error=error)
    data = sse(events_of(*items, status="failed", error=error))

    outcome = decode(data if streamed else json.dumps(failed).encode())

    assert outcome.events == [TextDelta(text="a")]
    assert outcome.error is not None
    assert type(outcome.error) is kind
    assert outcome.error.usage is not None
    assert outcome.error.usage.output_tokens == 5
    if error:
        assert error["message"] in str(outcome.error)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", "", None])
def test_a_response_that_has_not_ended_is_no_answer(status: str | None) -> None:
    data = json.dumps({**response(), "status": status}).encode()

    assert isinstance(failure(data, content_type=JSON), TruncatedStreamError)


@pytest.mark.parametrize(
    ("data", "content_type", "kind"),
    [
        (b"", SSE, EmptyStreamError),
        (b"\n\n", JSON, EmptyStreamError),
        (b": ping\n\n", SSE, EmptyStreamError),
        (b"<html>", "text/html", MalformedResponseError),
        (b"oops", "text/plain", MalformedResponseError),
        (b'{"object": "chat.completion"}', JSON, MalformedResponseError),
        (b'data: {"choices": []}\n\n', SSE, MalformedResponseError),
        (b'{"error": {"message": "no"}}', JSON, ProviderStreamError),
        (b"[1]", JSON, ProviderStreamError),
        (b'{"output": [', JSON, TruncatedStreamError),
        (b'{"output": ]}', JSON, MalformedResponseError),
        (b'{"output": 5}', JSON, MalformedResponseError),
        (b'{"output": [5]}', JSON, MalformedResponseError),
        (b'{"output": [{"type": "x", "n": NaN}]}', JSON, TruncatedStreamError),
        (b"data: 5\n\n", SSE, MalformedResponseError),
        (b"data: {5\n\ndata: {}\n\n", SSE, MalformedResponseError),
        (b"event: response.x\ndata: {5\n\n\n", SSE, MalformedResponseError),
        (b'data: {"type":"response.created"}\n\ndata: {"ty', SSE, TruncatedStreamError),
    ],
)
def test_what_is_no_answer_is_an_error_of_its_own_kind(
    data: bytes, content_type: str, kind: type[ModelError]
) -> None:
    assert type(failure(data, content_type=content_type)) is kind


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_item.added"},
        {"type": "response.output_item.done", "item": [1]},
        {"type": "response.completed", "response": 5},
        {"type": "response.output_text.delta", "delta": float("nan")},
        {
            "type": "response.output_item.done",
            "item": {"type": "message", "content": float("nan")},
        },
    ],
)
def test_an_event_of_another_shape_is_shown_in_the_error(event: Json) -> None:
    error = failure(sse([event]))

    assert isinstance(error, MalformedResponseError)
    assert event["type"] in str(error)


def test_an_item_that_cannot_be_written_again_is_an_error() -> None:
    odd = {"type": "x", "number": float("inf")}
    events = [*events_of(message(["a"]))[:-1]]
    events.append({"type": "response.output_item.done", "item": odd})
    events.append({"type": "response.completed", "response": response()})

    assert isinstance(failure(sse(events)), MalformedResponseError)


@pytest.mark.parametrize("whole", [True, False])
def test_halves_of_a_pair_are_joined_and_a_lone_one_is_replaced(whole: bool) -> None:
    pieces = ["a\ud83d", "\ude80b", "\ud83d"]
    items = (message(pieces), called("f", '"\ud83d', '\ude80"'), other("\ud83d"))
    events = events_of(*items)
    if not whole:
        events = [each for each in events if ".done" not in each["type"]]
        events[-1]["response"]["output"] = []

    outcome = decode(sse(events))

    assert outcome.response.text == "a🚀b\ufffd"
    assert outcome.response.tool_calls[0].arguments == '"🚀"'
    for text in strings(outcome.events):
        text.encode()
    at_once = decode(json.dumps(response(*items)).encode(), content_type=JSON)
    assert at_once.response.text == outcome.response.text


def test_usage_of_no_sense_is_no_usage() -> None:
    odd = {
        "input_tokens": "2",
        "output_tokens": -1,
        "total_tokens": True,
        "input_tokens_details": [1],
    }

    for usage in (odd, None, {}, 5):
        found = decode(sse(events_of(usage=usage))).response.usage
        assert (found.prompt_tokens, found.output_tokens) == (None, None)
        assert not found.sure


def test_an_error_before_any_report_has_no_usage() -> None:
    assert failure(sse([{"type": "error", "message": "x"}])).usage is None


members = st.sampled_from(
    [
        "item",
        "item_id",
        "output_index",
        "content_index",
        "summary_index",
        "delta",
        "text",
        "refusal",
        "response",
        "output",
        "content",
        "summary",
        "arguments",
        "id",
        "call_id",
        "name",
        "type",
        "status",
        "usage",
        "error",
        "code",
        "message",
        "model",
        "incomplete_details",
        "reason",
        "encrypted_content",
        "phase",
        "role",
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-1, 600)
    | st.floats()
    | st.text(st.characters() | st.just("\ud83d"), max_size=3)
    | st.sampled_from(
        ["message", "reasoning", "function_call", "completed", "incomplete", "failed"]
    )
)
odd_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4)
    ),
    max_leaves=12,
)
odd_item = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "other"])},
    optional={
        "id": scalars,
        "call_id": scalars,
        "name": scalars,
        "content": odd_json,
        "summary": odd_json,
        "arguments": odd_json,
    },
)
odd_event = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "response.created",
                "response.output_item.added",
                "response.output_item.done",
                "response.output_text.delta",
                "response.refusal.delta",
                "response.reasoning_text.delta",
                "response.reasoning_summary_text.delta",
                "response.function_call_arguments.delta",
                "response.completed",
                "response.incomplete",
                "response.failed",
                "error",
            ]
        )
    },
    optional={
        "delta": scalars,
        "output_index": scalars,
        "content_index": scalars,
        "item_id": scalars,
        "item": odd_item | odd_json,
        "response": odd_json
        | st.fixed_dictionaries(
            {"output": st.lists(odd_item, max_size=3)},
            optional={"status": scalars, "usage": odd_json, "error": odd_json},
        ),
    },
)


def strings(value: object) -> Iterator[str]:
    """Every string in it, however deep."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for each in cast("list[object]", value):
                yield from strings(each)
        case _ if is_dataclass(value):
            for each in fields(value):
                yield from strings(getattr(value, each.name))
        case _:
            return


@given(st.lists(odd_event | odd_json, max_size=6), st.booleans())
def test_any_json_gives_events_or_a_typed_error(events: list[Any], ends: bool) -> None:
    """And every string that is delivered fits UTF-8."""
    data = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in events)
    end = sse([{"type": "response.completed"}]) if ends else b""

    outcome = decode(data + end)

    for text in (str(outcome.error), *strings(outcome.events)):
        text.encode()


@given(
    st.fixed_dictionaries(
        {"output": st.lists(odd_item, max_size=4) | odd_json},
        optional={"status": scalars, "usage": odd_json, "error": odd_json},
    )
)
def test_any_json_in_one_piece_gives_events_or_a_typed_error(body: Json) -> None:
    outcome: Outcome = decode(json.dumps(body).encode(), content_type=JSON)

    for text in (str(outcome.error), *strings(outcome.events)):
        text.encode()


@given(st.binary(max_size=200) | st.text('{}[]",:dat \n<').map(str.encode))
def test_any_bytes_give_events_or_a_typed_error(data: bytes) -> None:
    for content_type in (SSE, JSON, "text/html", ""):
        outcome = decode(data, content_type=content_type)
        halves = decode([data[:5], data[5:]], content_type=content_type)

        assert type(outcome.error) is type(halves.error)
