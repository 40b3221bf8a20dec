from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.context import Context
from rxagent.errors import (
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    OverloadedError,
    RateLimitError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    TextDelta,
    ToolCallDelta,
)
from rxagent.messages import (
    AssistantMessage,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    UserMessage,
)
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.usage import Usage
from rxagent.wire import AnthropicDialect

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),),
    context=Context({"k": "v"}),
    origin=Origin(run_id="r", round=3),
)
SSE = "text/event-stream; charset=utf-8"

Json: TypeAlias = dict[str, Any]


def start(id_: str | None = "msg_1", **usage: int) -> Json:
    message = {"id": id_, "type": "message", "role": "assistant", "model": "m-1"}
    counts = {"input_tokens": 9, "output_tokens": 1, **usage}
    return {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": counts},
    }


def block(index: int, /, **members: object) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": members}


def delta(index: int, /, **members: object) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": members}


def text(index: int, piece: str) -> Json:
    return delta(index, type="text_delta", text=piece)


def argued(index: int, piece: str) -> Json:
    return delta(index, type="input_json_delta", partial_json=piece)


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None = "end_turn", **usage: object) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage,
    }


STOP: Json = {"type": "message_stop"}
PING: Json = {"type": "ping"}


def said(*events: Json, reason: str | None = "end_turn") -> list[Json]:
    """A whole answer with these events in its middle."""
    return [start(), *events, end(reason), STOP]


def sse(events: Iterable[Json | bytes]) -> bytes:
    return b"".join(
        each
        if isinstance(each, bytes)
        else b"event: %b\ndata: %b\n\n"
        % (str(each["type"]).encode(), json.dumps(each).encode())
        for each in events
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out, and how it ended."""

    events: list[ChatEvent]
    error: ModelError | None

    @property
    def response(self) -> ChatResponse:
        assert self.error is None, self.error
        *_, last = self.events
        assert isinstance(last, Finished)
        return last.response


def decode(pieces: Iterable[bytes], *, content_type: str = SSE) -> Outcome:
    decoder = AnthropicDialect().decoder(REQUEST, content_type=content_type)
    events: list[ChatEvent] = []
    try:
        for piece in pieces:
            events.extend(each for each in decoder.feed(piece))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return Outcome(events, error)
    return Outcome(events, None)


def answer(*events: Json, reason: str | None = "end_turn") -> ChatResponse:
    return decode([sse(said(*events, reason=reason))]).response


def failure(pieces: Iterable[bytes], *, content_type: str = SSE) -> ModelError:
    error = decode(pieces, content_type=content_type).error
    assert error is not None
    return error


ANSWER = [
    start(cache_read_input_tokens=4, cache_creation_input_tokens=2),
    block(0, type="thinking", thinking="", signature=""),
    PING,
    delta(0, type="thinking_delta", thinking="h"),
    delta(0, type="thinking_delta", thinking="m"),
    delta(0, type="signature_delta", signature="s="),
    delta(0, type="signature_delta", signature="="),
    stop(0),
    block(1, type="redacted_thinking", data="x"),
    stop(1),
    block(2, type="text", text=""),
    text(2, "Hel"),
    text(2, "lo 北京"),
    stop(2),
    block(3, type="tool_use", id="t1", name="f", input={}),
    argued(3, ""),
    argued(3, '{"x"'),
    argued(3, ": 1}"),
    stop(3),
    end("tool_use", output_tokens=5, output_tokens_details={"thinking_tokens": 2}),
    STOP,
]


def test_an_answer_is_a_delta_for_each_of_the_wire_and_its_end() -> None:
    """S001-91 to S001-96, M-57."""
    message = AssistantMessage.of(
        Reasoning(text="hm", signature="s==", dialect="anthropic"),
        Opaque(dialect="anthropic", data='{"type":"redacted_thinking","data":"x"}'),
        "Hello 北京",
        ToolCall(id="t1", name="f", arguments='{"x": 1}'),
    )
    response = ChatResponse(
        message=message,
        finish_reason="tool_calls",
        finish_reason_raw="tool_use",
        usage=Usage(
            input_tokens=9,
            cache_read_tokens=4,
            cache_write_tokens=2,
            output_tokens=5,
            reasoning_tokens=2,
            requests=1,
            basis="declared",
        ),
        model="m-1",
        id="msg_1",
        context=REQUEST.context,
        transcript=(message,),
    )

    events = decode([sse(ANSWER)]).events

    assert events == [
        ReasoningDelta(text="h"),
        ReasoningDelta(text="m"),
        TextDelta(text="Hel"),
        TextDelta(text="lo 北京"),
        ToolCallDelta(index=0, id="t1", name="f"),
        ToolCallDelta(index=0, arguments='{"x"'),
        ToolCallDelta(index=0, arguments=": 1}"),
        Finished(response=response),
    ]
    assert {event.origin for event in events} == {REQUEST.origin}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_answer_is_the_same_wherever_it_is_cut(line_end: bytes) -> None:
    assert_cut_anywhere(
        lambda: AnthropicDialect().decoder(REQUEST, content_type=SSE),
        sse(ANSWER).replace(b"\n", line_end),
    )


def test_the_same_answer_in_one_piece_says_the_same() -> None:
    """Law 3."""
    whole = {
        **ANSWER[0]["message"],
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Hello 北京", "citations": None},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {
            **ANSWER[0]["message"]["usage"],
            **ANSWER[-2]["usage"],
        },
    }
    streamed = decode([sse(ANSWER)]).response
    for pieces in every_cut(json.dumps(whole).encode()):
        response = decode(pieces, content_type="application/json").response
        [call] = response.tool_calls
        assert call.arguments == '{"x":1}'
        assert response.message.content[:3] == streamed.message.content[:3]
        assert response.usage == streamed.usage
        assert response.finish_reason == streamed.finish_reason
        assert (response.id, response.model) == (streamed.id, streamed.model)


def test_two_decoders_share_nothing() -> None:
    dialect = AnthropicDialect()
    one = dialect.decoder(REQUEST, content_type=SSE)
    other = dialect.decoder(REQUEST, content_type=SSE)
    list(one.feed(sse(ANSWER)))

    with pytest.raises(EmptyStreamError):
        other.flush()


def test_data_without_an_event_line_has_its_type_inside() -> None:
    """ant-data-only-no-event-line."""
    data = b"".join(b"data: %b   \n\n" % json.dumps(each).encode() for each in ANSWER)
    assert decode([data]).events == decode([sse(ANSWER)]).events


def test_an_event_without_a_type_has_that_of_its_name() -> None:
    data = b"".join(
        b"event: %b\ndata: %b\n\n"
        % (each["type"].encode(), json.dumps({**each, "type": None}).encode())
        for each in said(text(0, "a"))
    )
    named = data.replace(b'"type": null, ', b"").replace(b'{"type": null}', b"{}")
    assert decode([named]).response.text == "a"


@pytest.mark.parametrize(
    ("wire", "calls", "reason"),
    [
        ("end_turn", False, "stop"),
        ("stop_sequence", False, "stop"),
        ("max_tokens", False, "length"),
        ("model_context_window_exceeded", False, "length"),
        ("refusal", False, "refusal"),
        ("pause_turn", False, "pause"),
        ("made_up", False, "unknown"),
        (None, False, "unknown"),
        ("tool_use", True, "tool_calls"),
        ("end_turn", True, "tool_calls"),
        ("made_up", True, "tool_calls"),
        (None, True, "tool_calls"),
        ("max_tokens", True, "length"),
        ("refusal", True, "refusal"),
    ],
)
def test_the_calls_decide_the_finish_reason_unless_the_answer_was_cut_off(
    wire: str | None, calls: bool, reason: str
) -> None:
    piece = (
        block(0, type="tool_use", id="a", name="f", input={})
        if calls
        else block(0, type="text", text="a")
    )

    response = answer(piece, stop(0), reason=wire)

    assert (response.finish_reason, response.finish_reason_raw) == (reason, wire)
    cut_off = reason in ("length", "refusal")
    assert [each.truncated for each in response.tool_calls] == [cut_off] * calls


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "It is unsafe."}
    refused = end("refusal")
    refused["delta"]["stop_details"] = details

    response = decode([sse([start(), refused, STOP])]).response

    assert response.message.content == (Refusal(text="It is unsafe."),)
    assert (response.text, response.finish_reason) == ("", "refusal")


def test_a_refusal_may_say_nothing() -> None:
    refused = end("refusal")
    refused["delta"]["stop_details"] = {"type": "refusal", "explanation": None}
    assert decode([sse([start(), refused, STOP])]).response.message.content == ()


def test_a_call_that_was_cut_off_keeps_its_text_and_never_runs() -> None:
    """ant-tool-cut-by-max-tokens."""
    response = answer(
        block(0, type="tool_use", id="a", name="f", input={}),
        argued(0, '{"x": "un'),
        reason="max_tokens",
    )
    assert response.tool_calls == (
        ToolCall(id="a", name="f", arguments='{"x": "un', truncated=True),
    )


@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [
        ({}, [], "{}"),
        ({}, [""], "{}"),
        ({"x": 1}, [], '{"x":1}'),
        ('{"x": 1}', [], '{"x": 1}'),
        ({"x": 1}, ['{"x"', ":2}"], '{"x":2}'),
        (None, ["{}"], "{}"),
    ],
)
def test_arguments_come_in_pieces_or_with_the_start(
    given: object, pieces: list[str], arguments: str
) -> None:
    response = answer(
        block(0, type="tool_use", id="a", name="f", input=given),
        *(argued(0, piece) for piece in pieces),
        stop(0),
    )
    [call] = response.tool_calls
    assert call.arguments == arguments


def test_calls_have_ids_of_their_own() -> None:
    use = block(0, type="tool_use", id="a", name="f", input={})
    response = answer(use, stop(0), {**use, "index": 1}, stop(1))

    first, second = response.tool_calls
    assert first.id == "a" != second.id


@pytest.mark.parametrize(
    "events",
    [
        [block(0, type="text", text="Hi")],
        [block(0, type="text", text=""), text(0, "Hi")],
        [text(0, "Hi")],
        [block(0, type="text", text="H"), stop(0), text(0, "i")],
    ],
    ids=["with the start", "as a delta", "without a start", "after the end"],
)
def test_no_text_is_lost(events: list[Json]) -> None:
    response = answer(*events)
    assert (response.text, response.finish_reason) == ("Hi", "stop")


def test_a_piece_of_a_call_that_never_began_is_ignored() -> None:
    """ant-unknown-events-and-orphan-delta."""
    response = answer(
        block(0, type="text", text="a"),
        argued(0, '{"rm":'),
        argued(5, '{"rm": "-rf"}'),
        delta(5, type="signature_delta", signature="s"),
        stop(5),
        block(1, type="tool_use", input={"x": 1}),
        argued(1, "{}"),
        stop(1),
        block(2, type="tool_use", id="a", name="f", input={}),
        stop(2),
        argued(2, '{"rm": "-rf"}'),
    )
    assert response.message == AssistantMessage.of("a", ToolCall(id="a", name="f"))


def test_blocks_stay_apart_so_that_they_go_back_as_they_came() -> None:
    response = answer(
        block(0, type="text", text="a"),
        stop(0),
        block(1, type="text", text="b"),
        stop(1),
        block(2, type="thinking", thinking="", signature="s"),
        stop(2),
        block(3, type="thinking", thinking="hm", signature="t"),
        stop(3),
        block(4, type="thinking", thinking="unsigned"),
        stop(4),
    )
    assert response.message.content == (
        Text(text="a"),
        Text(text="b"),
        Reasoning(text="", signature="s", dialect="anthropic"),
        Reasoning(text="hm", signature="t", dialect="anthropic"),
        Reasoning(text="unsigned"),
    )


def opaque(response: ChatResponse) -> list[Json]:
    parts = [each for each in response.message.content if isinstance(each, Opaque)]
    assert {each.dialect for each in parts} <= {"anthropic"}
    return [json.loads(each.data) for each in parts]


def test_blocks_of_the_server_are_kept_whole_and_in_their_place() -> None:
    """S001-118."""
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search"}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [1]}
    new = {"type": "made_up", "level": 1, "note": "a"}

    response = answer(
        block(0, type="text", text="a"),
        stop(0),
        block(1, **use, input={}),
        argued(1, '{"query": '),
        argued(1, '"b"}'),
        stop(1),
        block(2, **found),
        stop(2),
        block(3, **new),
        delta(3, type="made_up_delta", note="b", more=[2], level=2),
        delta(3, type="made_up_delta", note="c"),
        stop(3),
        block(4, type="text", text="b"),
        stop(4),
        reason="pause_turn",
    )

    assert response.text == "ab"
    assert response.finish_reason == "pause"
    assert [type(part) for part in response.message.content] == [
        Text,
        Opaque,
        Opaque,
        Opaque,
        Text,
    ]
    assert opaque(response) == [
        {**use, "input": {"query": "b"}},
        found,
        {**new, "note": "abc", "more": [2], "level": 2},
    ]


def test_a_block_of_the_server_that_was_cut_off_is_left_out() -> None:
    response = answer(
        block(0, type="server_tool_use", id="s", name="web_search", input={}),
        argued(0, '{"query": "un'),
        reason="max_tokens",
    )
    assert response.message.content == ()


def test_the_counts_are_totals() -> None:
    """ant-usage-cumulative: set, and never added."""
    usage = decode(
        [
            sse(
                [
                    start(input_tokens=27, cache_read_input_tokens=100),
                    end(None, input_tokens=0, output_tokens=3),
                    end(output_tokens=15, input_tokens=30),
                    STOP,
                ]
            )
        ]
    ).response.usage

    assert usage == Usage(
        input_tokens=30,
        cache_read_tokens=100,
        output_tokens=15,
        requests=1,
        basis="declared",
    )
    assert (usage.prompt_tokens, usage.total_tokens) == (130, 145)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        3,
        {},
        {"input_tokens": "9"},
        {"x": True},
        {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0},
    ],
)
def test_counts_that_did_not_come_are_unknown(usage: object) -> None:
    begun = start()
    begun["message"]["usage"] = usage
    found = decode([sse([begun, end(), STOP])]).response.usage

    assert found == Usage(requests=1, sure=False)


def test_a_second_start_of_the_same_message_is_ignored() -> None:
    """anthropic-duplicate-message-start."""
    events = decode([sse([start(), text(0, "a"), start(), end(), STOP])]).events
    assert events[0] == TextDelta(text="a")
    assert [type(each) for each in events] == [TextDelta, Finished]


def test_a_start_of_another_message_voids_the_first() -> None:
    first = [
        start("one", cache_read_input_tokens=5),
        block(0, type="tool_use", id="a", name="f", input={}),
        text(1, "not this"),
        end("tool_use"),
    ]
    second = [start("two"), text(0, "this"), STOP]

    outcome = decode([sse([*first, *second])])

    [retracted] = [each for each in outcome.events if isinstance(each, Retracted)]
    assert retracted.origin == REQUEST.origin
    after = outcome.events[outcome.events.index(retracted) + 1 :]
    assert after[0] == TextDelta(text="this")
    response = outcome.response
    assert response.message == AssistantMessage.of("this")
    assert (response.id, response.finish_reason) == ("two", "unknown")
    assert response.usage.cache_read_tokens is None


def error_event(kind: str, message: str = "Wait.", **members: object) -> Json:
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error, **members}


@pytest.mark.parametrize(
    ("kind", "type_", "status", "retryable"),
    [
        ("overloaded_error", OverloadedError, 529, True),
        ("rate_limit_error", RateLimitError, 429, True),
        ("api_error", ServerError, 500, True),
        ("timeout_error", ServerError, 504, True),
    ],
)
def test_an_error_within_the_stream_comes_after_what_was_good(
    kind: str, type_: type[ModelError], status: int, retryable: bool
) -> None:
    """ant-overloaded-midstream."""
    data = sse(
        [start(), text(0, "Part"), error_event(kind, request_id="req_1")],
    )
    for pieces in every_cut(data):
        outcome = decode(pieces)
        assert outcome.events == [TextDelta(text="Part")]
        error = outcome.error
        assert error is not None
        assert type(error) is type_
        assert (error.code, error.retryable) == (kind, retryable)
        assert (error.request_id, error.provider) == ("req_1", "anthropic")
        assert "Wait." in str(error)
        assert "req_1" in str(error)
        assert error.usage is not None
        assert error.usage.input_tokens == 9


@pytest.mark.parametrize(
    "data",
    [
        b'data: {"type": "error", "error": {"type": "api_error", "message": "No."}}',
        b'data: {"error": {"message": "No."}}',
        b"event: error\ndata: No.",
        b'event: error\ndata: "No."',
        b'{"type": "error", "error": {"type": "api_error", "message": "No."}}',
        b'{"error": "No."}',
        b'["No."]',
    ],
)
def test_an_error_in_place_of_an_answer_is_found_wherever_it_is(data: bytes) -> None:
    for pieces in every_cut(data + b"\n\n"):
        assert "No." in str(failure(pieces))


TRUNCATED = [
    sse([start()]),
    sse([start(), text(0, "a")]),
    sse([start(), block(0, type="tool_use", id="a", name="f", input={}), stop(0)]),
    sse(said(text(0, "a")))[:-90],
    json.dumps(start()["message"]).encode()[:-9],
]


@pytest.mark.parametrize("data", TRUNCATED)
def test_an_answer_that_was_cut_off_is_never_a_short_answer(data: bytes) -> None:
    for pieces in every_cut(data):
        outcome = decode(pieces)
        assert type(outcome.error) is TruncatedStreamError, outcome
        assert not any(isinstance(each, Finished) for each in outcome.events)


@pytest.mark.parametrize(
    "ending",
    [
        [end(), STOP],
        [end()],
        [STOP],
        [b"data: [DONE]\n\n"],
        [end(), STOP, b"data: [DONE]\n\n", error_event("api_error")],
        [end(), b"event: message_stop\ndata: {}\n\n"],
        [end(), b": bye\n\ndata: : bye\n\nevent: bye\ndata: now\n\n"],
        [end(), b"event: bye\ndata: 1\n\n", STOP],
        [end(), b'event: message_stop\ndata: {"type":"message_stop"}'],
    ],
)
def test_an_answer_ends_with_its_reason_or_its_mark(ending: list[Json | bytes]) -> None:
    assert decode([sse([start(), text(0, "a"), *ending])]).response.text == "a"


@pytest.mark.parametrize("data", [b"", b"\n\n", b": hi\n\n", sse([PING]), sse([STOP])])
def test_a_stream_of_nothing_is_empty(data: bytes) -> None:
    assert type(failure([data])) is EmptyStreamError


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (b"<html>", "text/html"),
        (b"Welcome", "text/html"),
        (b"Welcome", "text/plain"),
        (b'{"id": 1}', "application/json"),
        (b'{"content": [1]}', "application/json"),
        (b"{]", "application/json"),
        (b'{"content": [{"type": "x", "y": NaN}]}', "application/json"),
        (b"event: message_start\ndata: [1]\n\n", SSE),
        (b"event: message_start\ndata: {oops}\n\nevent: ping\ndata: 1\n\n", SSE),
        (b'data: {"type": "message_start"}\n\n', SSE),
        (b'data: {"type": "content_block_delta", "index": 0}\n\n', SSE),
        (b'data: {"type": "content_block_start", "content_block": 1}\n\n', SSE),
    ],
)
def test_what_is_no_answer_is_malformed(data: bytes, content_type: str) -> None:
    error = failure([data], content_type=content_type)
    assert type(error) is MalformedResponseError
    assert not error.retryable


def test_a_pair_that_is_cut_in_two_is_one_character() -> None:
    raw = sse(
        said(
            block(0, type="text", text=""),
            text(0, "HIGH"),
            text(0, "LOW!"),
            text(0, "HIGH"),
            stop(0),
            block(1, type="tool_use", id="a", name="f", input={}),
            argued(1, '{"x": "HIGH'),
            argued(1, 'LOW"}'),
            stop(1),
            block(2, type="thinking", thinking="HIGH", signature="s"),
            delta(2, type="thinking_delta", thinking="LOW"),
        )
    )
    data = raw.replace(b"HIGH", rb"\ud83d").replace(b"LOW", rb"\ude80")

    outcome = decode([data])

    assert outcome.response.text == "🚀!\ufffd"
    assert outcome.response.reasoning == "🚀"
    assert outcome.response.tool_calls[0].arguments == '{"x": "🚀"}'
    for event in outcome.events:
        repr(event).encode()


def test_half_a_pair_that_nothing_follows_is_marked() -> None:
    use = block(0, type="tool_use", id="a", name="f", input={})
    raw = sse(said(use, argued(0, "HIGH"), stop(0)))
    [call] = decode([raw.replace(b"HIGH", rb"\ud83d")]).response.tool_calls
    assert call.arguments == "\ufffd"

    content = [{"type": "text", "text": "HIGH!"}]
    whole = json.dumps({"type": "message", "content": content}).encode()
    response = decode([whole.replace(b"HIGH", rb"\ud83d")]).response
    assert response.text == "\ufffd!"


NOISE: list[Json] = [
    PING,
    {"type": "telemetry", "payload": {"x": [1, None]}},
    {"type": "content_block_stop", "index": 99},
    {"type": "content_block_delta", "index": 99, "delta": {"type": "odd", "x": 1}},
    argued(99, '{"rm": "-rf"}'),
]
FIELDS = st.dictionaries(
    st.sampled_from(["x", "y", "trace"]), st.none() | st.integers() | st.text()
)
PIECES = st.lists(st.text(max_size=4), max_size=3)


@st.composite
def contents(draw: st.DrawFn) -> tuple[list[Json], AssistantMessage]:
    """Events of some blocks, and the message that they are."""
    events: list[Json] = []
    parts: list[Text | Reasoning | ToolCall | Opaque] = []
    for index in range(draw(st.integers(0, 4))):
        pieces = draw(PIECES)
        joined = "".join(pieces)
        kind = draw(st.sampled_from(["text", "thinking", "tool_use", "odd"]))
        if kind == "text":
            events.append(block(index, type="text", text=""))
            events += [text(index, piece) for piece in pieces]
            parts += [Text(text=joined)] if joined else []
        elif kind == "thinking":
            events.append(block(index, type="thinking", thinking="", signature=""))
            events += [
                delta(index, type="thinking_delta", thinking=piece) for piece in pieces
            ]
            events.append(delta(index, type="signature_delta", signature="s"))
            parts.append(Reasoning(text=joined, signature="s", dialect="anthropic"))
        elif kind == "tool_use":
            written = json.dumps({"x": joined})
            cut = draw(st.integers(0, len(written)))
            use = {"type": "tool_use", "id": f"t{index}", "name": "f", "input": {}}
            events.append(block(index, **use))
            events += [argued(index, written[:cut]), argued(index, written[cut:])]
            parts.append(ToolCall(id=f"t{index}", name="f", arguments=written))
        else:
            odd = {"type": "odd", "x": joined}
            events.append(block(index, **odd))
            data = json.dumps(odd, ensure_ascii=False, separators=(",", ":"))
            parts.append(Opaque(dialect="anthropic", data=data))
        events.append(stop(index))
    return events, AssistantMessage(content=tuple(parts))


@settings(max_examples=200)
@given(contents(), st.data())
def test_noise_in_an_answer_changes_nothing_wherever_it_is_cut(
    content: tuple[list[Json], AssistantMessage], data: st.DataObject
) -> None:
    events, message = content
    noisy: list[Json] = []
    for event in said(*events):
        noisy += data.draw(st.lists(st.sampled_from(NOISE), max_size=2))
        noisy.append({**data.draw(FIELDS), **event})
    stream = sse(noisy)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    places = [0, *cuts, len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]

    outcome = decode(pieces)

    assert outcome.response.message == message
    assert outcome.events == decode([sse(said(*events))]).events
    delivered = "".join(e.text for e in outcome.events if isinstance(e, TextDelta))
    assert delivered == outcome.response.text


def assert_typed(pieces: Sequence[bytes], *, content_type: str = SSE) -> None:
    """An end or an error of the family; what is delivered fits UTF-8."""
    outcome = decode(pieces, content_type=content_type)
    ends = [each for each in outcome.events if isinstance(each, Finished)]
    assert len(ends) == (outcome.error is None)
    for event in outcome.events:
        if isinstance(event, TextDelta | ReasoningDelta):
            event.text.encode()


@given(st.lists(st.binary(max_size=40), max_size=5), st.sampled_from([SSE, "", "x/y"]))
def test_any_bytes_are_events_or_a_typed_error(
    pieces: list[bytes], content_type: str
) -> None:
    assert_typed(pieces, content_type=content_type)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "index", "usage", "input", "error"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@st.composite
def almost(draw: st.DrawFn) -> Mapping[str, object]:
    """An event of the wire, with something else in one place."""
    event: Json = json.loads(json.dumps(draw(st.sampled_from([*ANSWER, *NOISE]))))
    at: Json = event
    while True:
        name = draw(st.sampled_from(sorted(at)))
        inner = at[name]
        if not isinstance(inner, dict) or not inner or draw(st.booleans()):
            at[name] = draw(_ANY)
            return event
        at = inner


@settings(max_examples=300)
@given(st.lists(almost(), max_size=4), st.booleans())
def test_any_json_is_events_or_a_typed_error(
    events: list[Mapping[str, object]], begun: bool
) -> None:
    lines = [b"data: %b\n\n" % json.dumps(each).encode() for each in events]
    head = sse(ANSWER[:-2]) if begun else b""
    assert_typed([head, *lines])


@settings(max_examples=200)
@given(_ANY)
def test_any_json_in_one_piece_is_an_answer_or_a_typed_error(value: object) -> None:
    whole = {"type": "message", "content": [value, value], "usage": value}
    call = {"type": "tool_use", "id": value, "name": "f", "input": value}
    for body in (value, whole, {**whole, "content": [call]}):
        assert_typed([json.dumps(body).encode()], content_type="application/json")
