from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.context import Context
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    TruncatedStreamError,
)
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from rxagent.messages import (
    AssistantMessage,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    UserMessage,
)
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.usage import Usage
from rxagent.wire import GeminiDialect

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),),
    context=Context({"k": "v"}),
    origin=Origin(run_id="r", round=3),
)
SSE = "text/event-stream"
SIGNATURE = "EqsFCqgFAb4+9vvtAF5n=="

Json = Mapping[str, object]


def parts(*parts: Json, finish: str | None = None, **members: object) -> Json:
    candidate: dict[str, object] = {
        "content": {"parts": parts, "role": "model"},
        "index": 0,
    }
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **members}


def finish(reason: str, **members: object) -> Json:
    return {"candidates": [{"finishReason": reason, **members}]}


def call(name: str, /, **args: object) -> Json:
    return {"functionCall": {"name": name, "args": args}}


def opaque(**data: object) -> Opaque:
    return Opaque(dialect="gemini", data=json.dumps(data, separators=(",", ":")))


def sse(*chunks: Json | bytes) -> bytes:
    return b"".join(
        each if isinstance(each, bytes) else b"data: %b\n\n" % json.dumps(each).encode()
        for each in chunks
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out, and how it ended."""

    events: list[ChatEvent]
    error: ModelError | None

    @property
    def response(self) -> ChatResponse:
        assert self.error is None, self.error
        *_, end = self.events
        assert isinstance(end, Finished)
        return end.response


def decode(pieces: Iterable[bytes], *, content_type: str = SSE) -> Outcome:
    decoder = GeminiDialect().decoder(REQUEST, content_type=content_type)
    events: list[ChatEvent] = []
    try:
        for piece in pieces:
            events.extend(each for each in decoder.feed(piece))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return Outcome(events, error)
    return Outcome(events, None)


def failure(data: bytes, *, content_type: str = SSE) -> ModelError:
    error = decode([data], content_type=content_type).error
    assert error is not None
    return error


def content_of(*chunks: Json) -> tuple[object, ...]:
    return decode([sse(*chunks)]).response.message.content


def without_ids(outcome: Outcome) -> object:
    """All of it, but for the ids that are made up anew each time."""
    return re.sub(r"gemini-call-\w+|call_\w+|id='\w{32}'", "?", repr(outcome.events))


ANSWER = sse(
    parts(
        {"text": "hm", "thought": True},
        responseId="r-1",
        modelVersion="g-3",
        usageMetadata={"promptTokenCount": 9, "thoughtsTokenCount": 2},
    ),
    parts({"text": "Hel"}),
    parts({"text": "lo 北京"}, usageMetadata={"candidatesTokenCount": 1}),
    parts(
        {
            "functionCall": {"id": "t1", "name": "f", "args": {"x": 1}},
            "thoughtSignature": SIGNATURE,
        }
    ),
    parts(
        {"text": ""},
        finish="STOP",
        usageMetadata={
            "promptTokenCount": 9,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 14,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
            "trafficType": "ON_DEMAND",
        },
    ),
)


def test_an_answer_is_a_delta_for_each_part_and_its_end() -> None:
    """M-46, S001-91 to S001-96, S001-98, S001-102."""
    message = AssistantMessage.of(
        Reasoning(text="hm"),
        "Hello 北京",
        ToolCall(id="t1", name="f", arguments='{"x":1}'),
        opaque(thoughtSignature=SIGNATURE),
    )
    response = ChatResponse(
        message=message,
        finish_reason="tool_calls",
        finish_reason_raw="STOP",
        usage=Usage(
            input_tokens=5,
            cache_read_tokens=4,
            output_tokens=5,
            reasoning_tokens=2,
            reported_total_tokens=14,
            requests=1,
            basis="declared",
        ),
        model="g-3",
        id="r-1",
        context=REQUEST.context,
        transcript=(message,),
    )

    events = decode([ANSWER]).events

    assert events == [
        ReasoningDelta(text="hm"),
        TextDelta(text="Hel"),
        TextDelta(text="lo 北京"),
        ToolCallDelta(index=0, id="t1", name="f", arguments='{"x":1}'),
        Finished(response=response),
    ]
    assert {event.origin for event in events} == {REQUEST.origin}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_answer_is_the_same_wherever_it_is_cut(line_end: bytes) -> None:
    assert_cut_anywhere(
        lambda: GeminiDialect().decoder(REQUEST, content_type=SSE),
        ANSWER.replace(b"\n", line_end),
    )


def test_two_decoders_share_nothing() -> None:
    """S001-87, S001-101, V-6: an old finish reason cannot leak."""
    dialect = GeminiDialect()
    one = dialect.decoder(REQUEST, content_type=SSE)
    other = dialect.decoder(REQUEST, content_type=SSE)
    list(one.feed(ANSWER))

    with pytest.raises(EmptyStreamError):
        other.flush()


@pytest.mark.parametrize(
    ("wire", "calls", "reason"),
    [
        ("STOP", False, "stop"),
        ("MAX_TOKENS", False, "length"),
        ("SAFETY", False, "content_filter"),
        ("RECITATION", False, "content_filter"),
        ("BLOCKLIST", False, "content_filter"),
        ("PROHIBITED_CONTENT", False, "content_filter"),
        ("SPII", False, "content_filter"),
        ("LANGUAGE", False, "content_filter"),
        ("IMAGE_SAFETY", False, "content_filter"),
        ("OTHER", False, "unknown"),
        ("NO_IMAGE", False, "unknown"),
        ("MADE_UP", False, "unknown"),
        ("STOP", True, "tool_calls"),
        ("OTHER", True, "tool_calls"),
        ("MALFORMED_FUNCTION_CALL", True, "tool_calls"),
        ("UNEXPECTED_TOOL_CALL", True, "tool_calls"),
        ("MAX_TOKENS", True, "length"),
        ("SAFETY", True, "content_filter"),
    ],
)
def test_the_calls_decide_the_finish_reason_unless_the_answer_was_cut_off(
    wire: str, calls: bool, reason: str
) -> None:
    """M-46."""
    piece = parts(call("f", x=1) if calls else {"text": "a"})

    response = decode([sse(piece, finish(wire))]).response

    assert (response.finish_reason, response.finish_reason_raw) == (reason, wire)
    cut_off = reason in ("length", "content_filter")
    assert [each.truncated for each in response.tool_calls] == [cut_off] * calls


@pytest.mark.parametrize(
    ("wire", "kind", "retryable"),
    [
        ("MALFORMED_FUNCTION_CALL", MalformedResponseError, True),
        ("MALFORMED_RESPONSE", MalformedResponseError, True),
        ("TOO_MANY_TOOL_CALLS", ProviderStreamError, True),
        ("UNEXPECTED_TOOL_CALL", MalformedResponseError, True),
        ("MISSING_THOUGHT_SIGNATURE", BadRequestError, False),
    ],
)
def test_a_generation_that_failed_is_an_error_and_no_empty_answer(
    wire: str, kind: type[ModelError], retryable: bool
) -> None:
    said = "Malformed function call: print(f("
    counted = {"usageMetadata": {"promptTokenCount": 7}}

    error = failure(sse(counted, finish(wire, finishMessage=said), finish(wire)))

    assert type(error) is kind
    assert (error.code, error.retryable) == (wire, retryable)
    assert said in str(error)
    assert error.usage is not None
    assert error.usage.input_tokens == 7
    assert wire in str(failure(sse(finish(wire))))


@pytest.mark.parametrize("reason", ["PROHIBITED_CONTENT", "OTHER", "STOP"])
def test_a_prompt_that_is_blocked_has_no_candidates(reason: str) -> None:
    blocked = {
        "promptFeedback": {"blockReason": reason, "safetyRatings": []},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
        "modelVersion": "g",
    }

    for data in (sse(blocked), json.dumps(blocked).encode()):
        response = decode([data]).response

        assert response.message.content == ()
        assert response.finish_reason == "content_filter"
        assert response.finish_reason_raw == reason
        assert response.usage.prompt_tokens == 9
        assert response.usage.output_tokens is None


@pytest.mark.parametrize(
    "candidate",
    [{}, {"content": {}}, {"content": {"role": "model"}}, {"content": {"parts": []}}],
)
def test_a_candidate_may_have_no_content(candidate: Json) -> None:
    chunk = {"candidates": [{**candidate, "finishReason": "SAFETY"}]}

    response = decode([sse(parts({"text": "a"}), chunk)]).response

    assert (response.text, response.finish_reason) == ("a", "content_filter")


def test_text_behind_a_finish_reason_that_came_too_early_is_read() -> None:
    """As gateways send it that translate from other formats."""
    early = finish("FINISH_REASON_UNSPECIFIED"), finish("STOP"), parts({"text": "a"})

    assert decode([sse(*early, finish("STOP"))]).response.text == "a"


def test_a_signature_stands_behind_what_it_signs_and_joins_nothing() -> None:
    signed = {"text": "c", "thoughtSignature": SIGNATURE}

    assert content_of(
        parts({"text": "a"}, {"text": "b"}),
        parts(signed, {"text": "d"}),
        finish("STOP"),
    ) == (
        Text(text="ab"),
        Text(text="c"),
        opaque(thoughtSignature=SIGNATURE),
        Text(text="d"),
    )


@pytest.mark.parametrize("last", [{"text": ""}, {}])
def test_a_signature_without_text_is_a_part_of_its_own(last: Json) -> None:
    end = {**last, "thoughtSignature": SIGNATURE}

    assert content_of(parts({"text": "4"}), parts(end, finish="STOP")) == (
        Text(text="4"),
        opaque(text="", thoughtSignature=SIGNATURE),
    )


def test_a_signed_thought_is_its_own_part() -> None:
    thought: Json = {"text": "a", "thought": True}
    signed = {"thought": True, "thoughtSignature": SIGNATURE}

    assert content_of(
        parts(thought, thought, {**thought, **signed}, thought, signed),
        finish("STOP"),
    ) == (
        Reasoning(text="aa"),
        Reasoning(text="a", signature=SIGNATURE, dialect="gemini"),
        Reasoning(text="a"),
        Reasoning(text="", signature=SIGNATURE, dialect="gemini"),
    )


def test_what_only_gemini_understands_is_kept_in_its_place() -> None:
    code = {
        "executableCode": {"language": "PYTHON", "code": "print(1)"},
        "thoughtSignature": SIGNATURE,
    }
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thought": True}
    unknown = {"toolCall": {"id": "x", "toolType": "GOOGLE_SEARCH"}}

    assert content_of(
        parts({"text": "a"}, code, result),
        parts(picture, unknown, {}, {"text": "b"}, finish="STOP"),
    ) == (
        Text(text="a"),
        opaque(**code),
        opaque(**result),
        opaque(**picture),
        opaque(**unknown),
        Text(text="b"),
    )


def test_calls_have_ids_that_differ_whether_gemini_gave_them_or_not() -> None:
    """ids_unique."""
    given = [{"functionCall": {"name": "f", "id": "a", "args": {}}}] * 2

    calls = decode(
        [sse(parts(call("f"), call("f"), *given), finish("STOP"))]
    ).response.tool_calls

    assert [each.name for each in calls] == ["f"] * 4
    assert len({each.id for each in calls}) == 4
    assert [each.id.startswith("gemini-call-") for each in calls[:3]] == [1, 1, 0]
    assert calls[2].id == "a"


@pytest.mark.parametrize(
    ("members", "arguments"),
    [
        ({}, "{}"),
        ({"args": None}, "{}"),
        ({"args": {}}, "{}"),
        ({"args": {"a": {"b": [1, None, "é"]}}}, '{"a":{"b":[1,null,"é"]}}'),
        ({"args": '{"a": 1}'}, '{"a": 1}'),
        ({"args": [1]}, "[1]"),
    ],
)
def test_arguments_come_as_an_object(members: Json, arguments: str) -> None:
    function = {"functionCall": {"name": "f", **members}}

    [asked] = decode([sse(parts(function, finish="STOP"))]).response.tool_calls

    assert (asked.name, asked.arguments) == ("f", arguments)


def test_a_part_may_hold_text_and_a_call() -> None:
    both = {"text": "Let me look.", **call("f"), "thoughtSignature": SIGNATURE}

    text, asked, signature = content_of(parts(both), finish("STOP"))

    assert text == Text(text="Let me look.")
    assert isinstance(asked, ToolCall)
    assert signature == opaque(thoughtSignature=SIGNATURE)


def piece(
    path: str | None = None, *, more: bool = True, begin: str = "", **leaf: object
) -> Json:
    """A call in pieces; ``more`` says that it continues."""
    function: dict[str, object] = {"willContinue": True} if more else {}
    if begin:
        function["name"] = begin
    if path:
        function["partialArgs"] = [{"jsonPath": path, **leaf}]
    return parts({"functionCall": function})


def test_arguments_may_come_leaf_by_leaf() -> None:
    data = sse(
        piece(begin="f"),
        piece("$.a[0].b", stringValue="x", willContinue=True),
        piece("$.a[0].b", stringValue="y"),
        piece("$.a[0].c", numberValue=2),
        piece(more=False),
        piece(more=False),
        piece(begin="g"),
        piece("$.d", boolValue=True, more=False),
        piece(begin="h", more=False),
        piece("$.e", nullValue="NULL_VALUE", begin="i"),
        finish("STOP"),
    )

    outcome = decode([data])

    calls = outcome.response.tool_calls
    assert [(each.name, each.arguments) for each in calls] == [
        ("f", '{"a":[{"b":"xy","c":2}]}'),
        ("g", '{"d":true}'),
        ("h", "{}"),
        ("i", '{"e":null}'),
    ]
    deltas = [each for each in outcome.events if isinstance(each, ToolCallDelta)]
    assert [(each.index, each.name, each.arguments) for each in deltas] == [
        (0, "f", ""),
        (0, None, '{"a":[{"b":"xy","c":2}]}'),
        (1, "g", ""),
        (1, None, '{"d":true}'),
        (2, "h", ""),
        (3, "i", ""),
        (3, None, '{"e":null}'),
    ]


def test_the_last_known_of_each_count_is_the_usage() -> None:
    """M-46: thoughts are output; what the server's tools read is prompt."""
    counts: list[dict[str, object]] = [
        {"promptTokenCount": 20, "thoughtsTokenCount": 30, "totalTokenCount": 50},
        {"promptTokenCount": 20, "candidatesTokenCount": 3, "totalTokenCount": 53},
        {"toolUsePromptTokenCount": 40, "candidatesTokenCount": 5},
        {"totalTokenCount": 95, "cachedContentTokenCount": 8, "trafficType": "X"},
        {"promptTokenCount": None, "candidatesTokenCount": True, "totalTokenCount": -1},
    ]
    data = sse(*({"usageMetadata": each} for each in counts), finish("STOP"))

    usage = decode([data]).response.usage

    assert usage == Usage(
        input_tokens=52,
        cache_read_tokens=8,
        output_tokens=35,
        reasoning_tokens=30,
        reported_total_tokens=95,
        requests=1,
        basis="declared",
    )
    assert usage.prompt_tokens == 60


def test_no_counts_are_unknown_and_not_0() -> None:
    usage = decode([sse(finish("STOP"))]).response.usage

    assert (usage.prompt_tokens, usage.output_tokens) == (None, None)
    assert not usage.sure


def test_unknown_members_events_and_other_candidates_are_ignored() -> None:
    data = sse(
        b": comment\n\n",
        b"event: ping\ndata: pong\n\n",
        b'event: metadata\ndata: ["x"]\n\n',
        b"retry: 5\nid: 7\n\n",
        b"data: : keepalive\n\n",
        b"data:\n\n",
        {"modelStatus": {"modelStage": "STABLE"}, "new": [1]},
        {"candidates": [{"index": 1, "content": {"parts": [{"text": "other"}]}}]},
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "a", "new": 1}], "new": 1},
                    "groundingMetadata": {"webSearchQueries": ["q"]},
                    "citationMetadata": {},
                }
            ],
            "promptFeedback": {"safetyRatings": []},
        },
        finish("STOP", safetyRatings=[{"category": "C", "probability": "NEGLIGIBLE"}]),
        b"data: [DONE]\n\n",
        b"data: {broken\n\n",
    )

    assert decode([data]).response.text == "a"


@pytest.mark.parametrize("content_type", ["application/json", SSE, ""])
def test_json_is_an_answer_in_one_piece_and_an_array_is_a_stream(
    content_type: str,
) -> None:
    """http-200-json-for-stream; law 3."""
    first = parts({"text": "Who"}, responseId="r")
    last = parts({"text": "le."}, call("f", x=1), finish="STOP")
    whole = parts({"text": "Whole."}, call("f", x=1), finish="STOP", responseId="r")

    for body in (whole, [first, last]):
        for pieces in every_cut(json.dumps(body, indent=1).encode()):
            response = decode(pieces, content_type=content_type).response
            text, asked = response.message.content
            assert text == Text(text="Whole.")
            assert isinstance(asked, ToolCall)
            assert (asked.name, asked.arguments) == ("f", '{"x":1}')
            assert (response.id, response.finish_reason) == ("r", "tool_calls")


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
def test_a_stream_is_read_whatever_its_content_type(content_type: str) -> None:
    assert decode([ANSWER], content_type=content_type).response.text == "Hello 北京"


def google(code: int, status: str, message: str = "words", **members: object) -> Json:
    return {"error": {"code": code, "message": message, "status": status, **members}}


BUSY = google(503, "UNAVAILABLE", "The model is overloaded.")
RAW = json.dumps(BUSY, indent=2).encode()
HTML = b"<!DOCTYPE html><html><title>Welcome</title></html>"
TEXT = parts({"text": "a"})

FAILURES: dict[str, tuple[bytes, str, type[ModelError], str]] = {
    "cut off": (sse(TEXT), SSE, TruncatedStreamError, "neither a finish reason nor"),
    "cut off within an event": (
        sse(TEXT, b'data: {"candidates":[{"con'),
        SSE,
        TruncatedStreamError,
        "within an event",
    ),
    "cut off within a line": (sse(TEXT, b"da"), SSE, TruncatedStreamError, "neither"),
    "cut off within JSON": (
        json.dumps(TEXT).encode()[:-4],
        "application/json",
        TruncatedStreamError,
        "within its JSON",
    ),
    "cut off within an array": (
        b"[%b" % json.dumps(TEXT).encode(),
        "application/json",
        TruncatedStreamError,
        "within its JSON",
    ),
    "comments only": (b": connected\n\n", SSE, EmptyStreamError, "nothing"),
    "usage only": (
        sse({"usageMetadata": {"promptTokenCount": 1}}),
        SSE,
        EmptyStreamError,
        "nothing",
    ),
    "usage only, as JSON": (
        b'{"usageMetadata":{"promptTokenCount":1}}',
        "application/json",
        EmptyStreamError,
        "nothing",
    ),
    "no bytes": (b"", SSE, EmptyStreamError, "nothing"),
    "no JSON bytes": (b" \n", "application/json", EmptyStreamError, "nothing"),
    "no JSON": (
        sse(TEXT, b"data: hello\n\n"),
        SSE,
        MalformedResponseError,
        "no chunk of an answer: 'hello'",
    ),
    "no object": (sse(b"data: [1]\n\n"), SSE, MalformedResponseError, r"'\[1\]'"),
    "no objects": (b"[1]", SSE, MalformedResponseError, r"'\[1\]'"),
    "another object": (
        b'{"models": []}',
        "application/json",
        MalformedResponseError,
        "models",
    ),
    "broken JSON": (b'{"a" 1}', "application/json", MalformedResponseError, "a"),
    "HTML": (HTML, "text/html", MalformedResponseError, "text/html.*base_url"),
    "text": (b"All is well.", "text/plain", MalformedResponseError, "text/plain"),
    "candidates": (
        sse({"candidates": "x"}),
        SSE,
        MalformedResponseError,
        "candidates as a Python str; is base_url",
    ),
    "a candidate": (sse({"candidates": [1]}), SSE, MalformedResponseError, "candidate"),
    "content": (
        sse({"candidates": [{"content": "x"}]}),
        SSE,
        MalformedResponseError,
        "content",
    ),
    "parts": (
        sse({"candidates": [{"content": {"parts": "x"}}]}),
        SSE,
        MalformedResponseError,
        "parts",
    ),
    "a part": (
        sse({"candidates": [{"content": {"parts": ["x"]}}]}),
        SSE,
        MalformedResponseError,
        "a part",
    ),
    "a call": (
        sse(parts({"functionCall": "x"})),
        SSE,
        MalformedResponseError,
        "a function call",
    ),
    "arguments that are no JSON": (
        sse(
            b'data: {"candidates":[{"content":{"parts":[{"functionCall":'
            b'{"name":"f","args":{"x":NaN}}}]}}]}\n\n'
        ),
        SSE,
        MalformedResponseError,
        "sent a call that .*JSON",
    ),
    "a part that is no JSON": (
        sse(b'data: {"candidates":[{"content":{"parts":[{"x":NaN}]}}]}\n\n'),
        SSE,
        MalformedResponseError,
        "not JSON",
    ),
    "an argument that is no object": (
        sse(parts({"functionCall": {"name": "f", "partialArgs": [1]}})),
        SSE,
        MalformedResponseError,
        "an argument that is no object",
    ),
    "an argument that fits nowhere": (
        sse(piece("$.a[7]", begin="f", boolValue=True)),
        SSE,
        MalformedResponseError,
        "an argument that fits nowhere",
    ),
    "an error as a chunk": (
        sse(TEXT, BUSY),
        SSE,
        OverloadedError,
        "503 Service Unavailable: The model is overloaded",
    ),
    "an error behind chunks, as it is": (
        sse(TEXT, b"\r\n", RAW),
        SSE,
        OverloadedError,
        "The model is overloaded",
    ),
    "an error behind the end, in an array": (
        sse(TEXT, finish("STOP"), b"[%b\n]" % RAW),
        SSE,
        OverloadedError,
        "The model is overloaded",
    ),
    "an error event": (
        b"event: error\ndata: %b\n\n" % json.dumps(BUSY).encode(),
        SSE,
        OverloadedError,
        "overloaded",
    ),
    "an error event of text": (
        b"event: error\ndata: out of memory\n\n",
        SSE,
        ProviderStreamError,
        "out of memory",
    ),
    "an error as JSON": (RAW, SSE, OverloadedError, "overloaded"),
    "an error in an array": (b"[%b]" % RAW, SSE, OverloadedError, "overloaded"),
    "a bad key": (
        json.dumps(
            google(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                details=[
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID",
                        "domain": "googleapis.com",
                    }
                ],
            )
        ).encode(),
        "application/json",
        AuthenticationError,
        "code: API_KEY_INVALID.*check the API key",
    ),
    "too many requests": (
        sse(google(429, "RESOURCE_EXHAUSTED")),
        SSE,
        RateLimitError,
        "429 .*RESOURCE_EXHAUSTED",
    ),
    "a prompt that is too long": (
        sse(
            google(
                400,
                "INVALID_ARGUMENT",
                "The input token count (2845475) exceeds the maximum number of "
                "tokens allowed (1048576).",
            )
        ),
        SSE,
        ContextLengthError,
        "shorten",
    ),
}


@pytest.mark.parametrize(
    ("data", "content_type", "kind", "words"), FAILURES.values(), ids=FAILURES
)
def test_what_is_no_answer_is_a_typed_error_wherever_it_is_cut(
    data: bytes, content_type: str, kind: type[ModelError], words: str
) -> None:
    for pieces in every_cut(data):
        error = decode(pieces, content_type=content_type).error
        assert isinstance(error, kind), pieces
        assert error.provider == "gemini"
    with pytest.raises(kind, match=words):
        raise failure(data, content_type=content_type)


def test_stray_lines_that_are_no_error_say_nothing() -> None:
    data = sse(TEXT, b'{"a":\n1}\n\n', finish("STOP"))

    assert decode([data]).response.text == "a"


def test_what_came_before_an_error_in_the_same_read_is_delivered() -> None:
    outcome = decode([sse(TEXT, BUSY)])

    assert outcome.events == [TextDelta(text="a")]
    assert isinstance(outcome.error, OverloadedError)
    assert outcome.error.status == 503


def test_an_error_carries_the_tokens_that_were_counted() -> None:
    counted = {"usageMetadata": {"promptTokenCount": 43, "candidatesTokenCount": 10}}

    error, other = failure(sse(counted, BUSY)), failure(sse(BUSY))

    assert error.usage is not None
    assert error.usage.total_tokens == 53
    assert other.usage is None


def test_half_a_character_is_delivered_as_a_replacement() -> None:
    data = sse(
        b'data: {"responseId":"\\ud83d","candidates":[{"content":{"parts":'
        b'[{"text":"a\\ud83d"}]},"finishReason":"STOP"}]}\n\n'
    )

    response = decode([data]).response

    assert (response.id, response.text) == ("\ufffd", "a\ufffd")


def test_halves_of_surrogate_pairs_are_joined_across_chunks() -> None:
    def parts(*parts: object) -> bytes:
        candidate = {"content": {"parts": parts}}
        return b"data: %s\n\n" % json.dumps({"candidates": [candidate]}).encode()

    call = {"name": "f\ud83d", "args": {"text": "\ud83d"}, "id": "\ud83d"}
    answer = b"".join(
        [
            parts({"text": "\ud83e", "thought": True}),
            parts({"text": "a\ud83d"}),
            parts({"text": "\udd14!", "thought": True}, {"text": "\ude80b\ud83d"}),
            parts({"functionCall": call}),
            sse({"candidates": [{"finishReason": "STOP"}]}),
        ]
    )

    for pieces in every_cut(answer):
        response = decode(pieces).response
        assert response.text == "a🚀b\ufffd"
        assert response.reasoning == "🤔!"
        [found] = response.tool_calls
        assert (found.id, found.name) == ("\ufffd", "f\ufffd")
        assert found.arguments == '{"text":"\ufffd"}'


members = st.sampled_from(
    [
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "name",
        "args",
        "id",
        "index",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "numberValue",
        "willContinue",
        "error",
        "code",
        "status",
        "message",
        "details",
        "retryDelay",
        "reason",
        "finishReason",
        "promptFeedback",
        "blockReason",
        "usageMetadata",
        "promptTokenCount",
        "executableCode",
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-1, 600)
    | st.floats()
    | st.text(st.characters() | st.just("\ud83d"), max_size=3)
    | st.sampled_from(
        ["$.a", "$[0]", "$.a[1]", "$['a']", "STOP", "MAX_TOKENS", "UNAVAILABLE", "2s"]
    )
)
odd_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4)
    ),
    max_leaves=12,
)
odd_call = st.fixed_dictionaries(
    {},
    optional={
        "name": scalars,
        "id": scalars,
        "args": odd_json,
        "willContinue": st.booleans(),
        "partialArgs": st.lists(
            st.dictionaries(members, scalars, max_size=4), max_size=2
        ),
    },
)
odd_part = odd_json | st.fixed_dictionaries({"functionCall": odd_call})
odd_chunk = st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "content": st.fixed_dictionaries(
                        {"parts": st.lists(odd_part, max_size=3)}
                    ),
                    "finishReason": scalars,
                },
            ),
            max_size=2,
        ),
        "usageMetadata": odd_json,
        "promptFeedback": odd_json,
        "error": odd_json,
    },
)


def strings(value: object) -> Iterator[str]:
    """Every string in it, however deep."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for each in cast("Iterable[object]", value):
                yield from strings(each)
        case _ if is_dataclass(value):
            for each in fields(value):
                yield from strings(getattr(value, each.name))
        case _:
            return


@given(st.lists(odd_chunk | odd_json, max_size=4), st.booleans())
def test_any_json_gives_events_or_a_typed_error(
    chunks: list[object], as_array: bool
) -> None:
    """And every string that is delivered fits UTF-8."""
    data = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in chunks)
    if as_array:
        data = json.dumps(chunks).encode()

    outcome = decode([data])

    for text in (str(outcome.error), *strings(outcome.events)):
        text.encode()


@given(st.binary(max_size=200) | st.text('{}[]",:dat \n<').map(str.encode))
def test_any_bytes_give_events_or_a_typed_error(data: bytes) -> None:
    for content_type in (SSE, "application/json", "text/html", ""):
        outcome = decode([data], content_type=content_type)
        halves = decode([data[:5], data[5:]], content_type=content_type)

        assert type(outcome.error) is type(halves.error)


words = st.text(max_size=5)
good_parts: st.SearchStrategy[Json] = st.one_of(
    words.map(lambda text: {"text": text}),
    words.map(lambda text: {"text": text, "thought": True}),
    words.map(lambda text: {"text": text, "thoughtSignature": SIGNATURE}),
    st.dictionaries(words, words, max_size=2).map(lambda args: call("f", **args)),
    st.dictionaries(words, words, max_size=2).map(
        lambda args: {**call("g", **args), "thoughtSignature": SIGNATURE}
    ),
    st.just({"executableCode": {"code": "1"}}),
)
good_chunks = st.one_of(
    st.lists(good_parts, max_size=3).map(lambda some: parts(*some)),
    st.integers(1, 9).map(
        lambda n: {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": n}}
    ),
)
noises = st.sampled_from(
    [
        b": keep-alive\n\n",
        b": keep-alive\n",
        b"data: : ping\n\n",
        b"event: ping\ndata: x\n\n",
        b'data: {"unknown": {"deep": [1]}}\n\n',
        b'data: {"candidates": [{"unknown": 1}], "modelStatus": {}}\n\n',
        b"id: 3\nretry: 9\n\n",
        b"\n",
    ]
)


@given(
    st.lists(st.tuples(good_chunks, st.lists(noises, max_size=2)), max_size=6),
    st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"]),
    st.lists(st.integers(0, 2000), max_size=6),
)
def test_noise_and_cuts_change_nothing(
    script: list[tuple[Any, list[bytes]]], reason: str, cuts: list[int]
) -> None:
    plain = sse(*(chunk for chunk, _ in script), finish(reason))
    noisy = sse(*(each for chunk, noise in script for each in (*noise, chunk)))
    noisy += sse(finish(reason))
    places = sorted({0, len(noisy), *(cut for cut in cuts if cut < len(noisy))})
    pieces = [noisy[start:end] for start, end in pairwise(places)]

    expected, found = decode([plain]), decode(pieces)

    assert found.error is expected.error is None
    assert without_ids(found) == without_ids(expected)
