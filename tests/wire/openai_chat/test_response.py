from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.context import Context
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    ServerError,
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
    Refusal,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.usage import Usage
from rxagent.wire import OpenAIChatDialect

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),),
    context=Context({"k": "v"}),
    origin=Origin(run_id="r", round=3),
)
SSE = "text/event-stream; charset=utf-8"
DONE = b"data: [DONE]\n\n"

Json = Mapping[str, object]


def delta(**members: object) -> Json:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}


def finish(reason: str | None, **members: object) -> Json:
    choice = {"index": 0, "delta": members, "finish_reason": reason}
    return {"choices": [choice]}


def call(index: int = 0, **members: object) -> Json:
    return delta(tool_calls=[{"index": index, **members}])


def sse(*chunks: Json | bytes, done: bool = True) -> bytes:
    events = [
        each if isinstance(each, bytes) else b"data: %b\n\n" % json.dumps(each).encode()
        for each in chunks
    ]
    return b"".join(events) + (DONE if done else b"")


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


def decode(
    pieces: Iterable[bytes],
    *,
    content_type: str = SSE,
    dialect: OpenAIChatDialect | None = None,
) -> Outcome:
    decoder = (dialect or OpenAIChatDialect()).decoder(
        REQUEST, content_type=content_type
    )
    events: list[ChatEvent] = []
    try:
        for piece in pieces:
            events.extend(each for each in decoder.feed(piece))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return Outcome(events, error)
    return Outcome(events, None)


def failure(pieces: Iterable[bytes], *, content_type: str = SSE) -> ModelError:
    error = decode(pieces, content_type=content_type).error
    assert error is not None
    return error


ANSWER = sse(
    {"id": "", "model": "", "choices": [], "prompt_filter_results": []},
    {"id": "c-1", "model": "m-1", **delta(role="assistant", content="")},
    delta(reasoning_content="hm", reasoning="hm"),
    delta(content="Hel"),
    delta(content="lo 北京"),
    call(id="t1", type="function", function={"name": "f", "arguments": ""}),
    call(function={"arguments": '{"x": 1}'}),
    finish("tool_calls"),
    {
        "id": "c-1",
        "choices": [],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    },
)


def test_an_answer_is_a_delta_for_each_of_the_wire_and_its_end() -> None:
    """S001-91 to S001-96, S001-98, S001-102."""
    message = AssistantMessage.of(
        Reasoning(text="hm"),
        "Hello 北京",
        ToolCall(id="t1", name="f", arguments='{"x": 1}'),
    )
    response = ChatResponse(
        message=message,
        finish_reason="tool_calls",
        finish_reason_raw="tool_calls",
        usage=Usage(
            input_tokens=5,
            cache_read_tokens=4,
            output_tokens=5,
            reasoning_tokens=2,
            reported_total_tokens=14,
            requests=1,
            basis="last",
        ),
        model="m-1",
        id="c-1",
        context=REQUEST.context,
        transcript=(message,),
    )

    events = decode([ANSWER]).events

    assert events == [
        ReasoningDelta(text="hm"),
        TextDelta(text="Hel"),
        TextDelta(text="lo 北京"),
        ToolCallDelta(index=0, id="t1", name="f"),
        ToolCallDelta(index=0, arguments='{"x": 1}'),
        Finished(response=response),
    ]
    assert {event.origin for event in events} == {REQUEST.origin}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_answer_is_the_same_wherever_it_is_cut(line_end: bytes) -> None:
    assert_cut_anywhere(
        lambda: OpenAIChatDialect().decoder(REQUEST, content_type=SSE),
        ANSWER.replace(b"\n", line_end),
    )


def test_two_decoders_share_nothing() -> None:
    """S001-87, S001-101, V-6: an old finish reason cannot leak."""
    dialect = OpenAIChatDialect()
    one = dialect.decoder(REQUEST, content_type=SSE)
    other = dialect.decoder(REQUEST, content_type=SSE)
    list(one.feed(ANSWER))

    with pytest.raises(EmptyStreamError):
        other.flush()


@pytest.mark.parametrize(
    ("wire", "calls", "reason"),
    [
        ("stop", False, "stop"),
        ("length", False, "length"),
        ("content_filter", False, "content_filter"),
        ("eos_token", False, "stop"),
        ("made_up", False, "unknown"),
        (None, False, "unknown"),
        ("tool_calls", True, "tool_calls"),
        ("function_call", True, "tool_calls"),
        ("stop", True, "tool_calls"),
        ("made_up", True, "tool_calls"),
        (None, True, "tool_calls"),
        ("length", True, "length"),
        ("content_filter", True, "content_filter"),
    ],
)
def test_the_calls_decide_the_finish_reason_unless_the_answer_was_cut_off(
    wire: str | None, calls: bool, reason: str
) -> None:
    piece = (
        call(id="a", function={"name": "f", "arguments": "{}"})
        if calls
        else delta(content="a")
    )

    response = decode([sse(piece, finish(wire))]).response

    assert (response.finish_reason, response.finish_reason_raw) == (reason, wire)
    cut_off = reason in ("length", "content_filter")
    assert [each.truncated for each in response.tool_calls] == [cut_off] * calls


@pytest.mark.parametrize(
    ("word", "family"),
    [
        ("insufficient_system_resource", OverloadedError),
        ("network_error", ProviderStreamError),
        ("error", ProviderStreamError),
        ("abort", ProviderStreamError),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", MalformedResponseError),
    ],
)
def test_a_generation_that_broke_off_is_an_error_behind_what_came(
    word: str, family: type[ModelError]
) -> None:
    outcome = decode([sse(delta(content="half an ans"), finish(word))])

    assert outcome.events == [TextDelta(text="half an ans", origin=REQUEST.origin)]
    error = outcome.error
    assert isinstance(error, ModelError)
    assert (type(error), error.retryable, error.code) == (family, True, word)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("sensitive", "content_filter"),
        ("content_filter: RECITATION", "content_filter"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_a_word_of_one_vendor_means_what_it_says(word: str, reason: str) -> None:
    response = decode([sse(delta(content="a"), finish(word))]).response

    assert (response.finish_reason, response.finish_reason_raw) == (reason, word)


def test_an_error_within_the_choice_of_a_whole_answer_is_raised() -> None:
    choice = {"message": {"content": "a"}, "finish_reason": "error"}
    error = {"code": 502, "message": "upstream is gone"}

    outcome = decode([json.dumps({"choices": [{**choice, "error": error}]}).encode()])

    assert outcome.events == [TextDelta(text="a", origin=REQUEST.origin)]
    assert isinstance(outcome.error, ServerError)
    assert "upstream is gone" in str(outcome.error)


def test_a_refusal_is_its_own_part_and_its_own_reason() -> None:
    data = sse(
        delta(role="assistant", content=None, refusal=""),
        delta(refusal="I can't "),
        delta(refusal="help."),
        finish("stop"),
    )

    response = decode([data]).response

    assert response.message.content == (Refusal(text="I can't help."),)
    assert (response.text, response.finish_reason) == ("", "refusal")


def test_the_old_shape_of_a_call_has_no_id_and_gets_one() -> None:
    """tool-legacy-function-call."""
    data = sse(
        delta(
            role="assistant", content=None, function_call={"name": "f", "arguments": ""}
        ),
        delta(function_call={"arguments": '{"x":'}),
        delta(function_call={"arguments": "1}"}),
        finish("function_call"),
    )

    [asked] = decode([data]).response.tool_calls

    assert (asked.name, asked.arguments) == ("f", '{"x":1}')
    assert asked.id.startswith("call_")


def test_content_may_be_a_list_of_typed_parts() -> None:
    odd = {"type": "reference", "reference_ids": [1]}
    data = sse(
        delta(content=[{"type": "thinking", "thinking": [{"text": "add "}]}]),
        delta(
            content=[
                {"type": "thinking", "thinking": "them"},
                {"type": "text", "text": "It"},
            ]
        ),
        delta(content=["is ", odd]),
        delta(content={"type": "text", "text": "9"}),
        delta(content=[{"type": "refusal", "refusal": "no"}]),
        finish("stop"),
    )

    message = decode([data]).response.message

    assert message == AssistantMessage.of(
        Reasoning(text="add them"),
        "Itis ",
        Opaque(dialect="openai", data=json.dumps(odd, separators=(",", ":"))),
        "9",
        Refusal(text="no"),
    )


def test_a_thought_in_the_content_keeps_its_signature_and_whose_it_is() -> None:
    """M-57."""
    data = sse(
        delta(content=[{"type": "thinking", "thinking": "add"}]),
        delta(content=[{"type": "thinking", "thinking": "", "signature": "sig"}]),
        delta(content=[{"type": "text", "text": "9"}]),
        finish("stop"),
    )

    message = decode([data]).response.message

    thought = Reasoning(text="add", signature="sig", dialect="openai")
    assert message == AssistantMessage.of(thought, "9")


@pytest.mark.parametrize(
    "piece",
    [
        {"usage": {"prompt_tokens": 2, "completion_tokens": 1}, "choices": []},
        {"x_groq": {"usage": {"prompt_tokens": 2, "completion_tokens": 1}}},
        {
            "choices": [
                {"index": 0, "usage": {"prompt_tokens": 2, "completion_tokens": 1}}
            ]
        },
    ],
    ids=["openai", "groq", "moonshot"],
)
def test_usage_is_found_where_servers_put_it(piece: Json) -> None:
    data = sse(
        delta(content="a"), finish("stop"), piece, {"choices": [], "usage": None}
    )

    usage = decode([data]).response.usage

    assert (usage.prompt_tokens, usage.output_tokens) == (2, 1)


def test_usage_of_no_sense_is_no_usage() -> None:
    odd = {"prompt_tokens": "2", "completion_tokens": -1, "total_tokens": True}

    assert decode([sse(finish("stop"), {"usage": odd})]).response.usage.sure is False


def test_unknown_members_events_and_other_choices_are_ignored() -> None:
    data = sse(
        b"event: ping\ndata: pong\n\n",
        b'event: metadata\ndata: ["x"]\n\n',
        b"retry: 5\nid: 7\n\n",
        {"type": "ping"},
        {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        {
            "choices": [
                {"index": 0, "delta": {"content": "a", "new": [1]}, "logprobs": {}}
            ]
        },
        {"choices": [{"index": 0}]},
        finish("stop"),
    )

    assert decode([data]).response.text == "a"


def test_a_comment_in_a_data_line_is_skipped_and_nothing_follows_the_end() -> None:
    data = sse(
        b"data: : keepalive\n\n",
        b"data:\n\n",
        delta(content="a"),
        b"data:[DONE] \n\n",
        b"data: {broken\n\n",
        delta(content="b"),
    )

    assert decode([data]).response.text == "a"


@pytest.mark.parametrize(
    ("first", "second"),
    [("text", "text"), ("reasoning", "reasoning")],
)
def test_a_character_cut_between_two_json_strings_is_joined(
    first: str, second: str
) -> None:
    member = "content" if first == "text" else "reasoning_content"
    data = sse(
        b'data: {"choices":[{"delta":{"%b":"go \\ud83d"}}]}\n\n' % member.encode(),
        b'data: {"choices":[{"delta":{"%b":"\\ude80!"}}]}\n\n' % member.encode(),
        finish("stop"),
    )

    message = decode([data]).response.message

    assert getattr(message, second) == "go 🚀!"


def test_half_a_character_at_the_end_is_delivered_as_a_replacement() -> None:
    data = sse(
        b'data: {"id":"\\ud83d","choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t\\ud83d",'
        b'"function":{"name":"f","arguments":"{\\ud83d"}}]}}]}\n\n',
        finish("stop"),
    )

    outcome = decode([data])

    texts = [event.text for event in outcome.events if isinstance(event, TextDelta)]
    assert texts == ["a", "\ufffd"]
    [asked] = outcome.response.tool_calls
    assert (asked.id, asked.arguments) == ("t\ufffd", "{\ufffd")
    assert outcome.response.id == "\ufffd"


def test_think_tags_are_read_where_the_dialect_says_so() -> None:
    data = sse(
        delta(content="<th"),
        delta(content="ink>secret</thi"),
        delta(content="nk>\n\nAN"),
        delta(content="SWER <"),
        finish("stop"),
    )

    told = decode([data], dialect=OpenAIChatDialect(think_tags=True)).response
    plain = decode([data]).response

    assert (told.reasoning, told.text) == ("secret", "ANSWER <")
    assert (plain.reasoning, plain.text) == ("", "<think>secret</think>\n\nANSWER <")


def test_an_answer_may_start_in_thinking() -> None:
    dialect = OpenAIChatDialect(think_tags=True, starts_in_thinking=True)
    data = sse(delta(content="hm</think>\nYes."), finish("stop"))

    response = decode([data], dialect=dialect).response

    assert (response.reasoning, response.text) == ("hm", "Yes.")


WHOLE = json.dumps(
    {
        "id": "c-1",
        "object": "chat.completion",
        "model": "m-1",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Whole.",
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {
                            "id": "a",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        },
                        {
                            "id": "b",
                            "type": "function",
                            "function": {"name": "g", "arguments": {"x": 1}},
                        },
                    ],
                },
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    }
).encode()


@pytest.mark.parametrize("content_type", ["application/json", SSE, ""])
def test_one_json_completion_is_an_answer_in_one_piece(content_type: str) -> None:
    """http-200-json-for-stream; law 3."""
    for pieces in every_cut(WHOLE):
        response = decode(pieces, content_type=content_type).response

        assert response.message == AssistantMessage.of(
            Reasoning(text="hm"),
            "Whole.",
            ToolCall(id="a", name="f", arguments="{}"),
            ToolCall(id="b", name="g", arguments='{"x":1}'),
        )
        assert response.finish_reason == "tool_calls"
        assert response.usage.total_tokens == 3


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
def test_a_stream_is_read_whatever_its_content_type(content_type: str) -> None:
    assert decode([ANSWER], content_type=content_type).response.text == "Hello 北京"


HTML = b"<!DOCTYPE html><html><title>Welcome</title></html>"

FAILURES: dict[str, tuple[bytes, str, type[ModelError], str]] = {
    "cut off": (
        sse(delta(content="a"), done=False),
        SSE,
        TruncatedStreamError,
        "neither a finish reason nor",
    ),
    "cut off within an event": (
        sse(delta(content="a"), b'data: {"choices":[{"del', done=False),
        SSE,
        TruncatedStreamError,
        "within an event",
    ),
    "cut off within JSON": (
        WHOLE[:50],
        "application/json",
        TruncatedStreamError,
        "within its JSON",
    ),
    "comments only": (b": connected\n\n", SSE, EmptyStreamError, "nothing"),
    "the end only": (DONE, SSE, EmptyStreamError, "nothing"),
    "no bytes": (b"", SSE, EmptyStreamError, "nothing"),
    "no JSON bytes": (b" \n", "application/json", EmptyStreamError, "nothing"),
    "no JSON": (
        sse(delta(content="a"), b"data: hello\n\n"),
        SSE,
        MalformedResponseError,
        "no chunk of an answer: 'hello'",
    ),
    "no object": (sse(b"data: [1]\n\n"), SSE, MalformedResponseError, r"'\[1\]'"),
    "another object": (
        b'{"models": []}',
        "application/json",
        MalformedResponseError,
        "models",
    ),
    "broken JSON": (b'{"a" 1}', "application/json", MalformedResponseError, "a"),
    "HTML": (HTML, "text/html", MalformedResponseError, "text/html.*base_url"),
    "HTML as a stream": (HTML, SSE, MalformedResponseError, "with HTML of type"),
    "text": (b"All is well.", "text/plain", MalformedResponseError, "text/plain"),
    "text as HTML": (b"Welcome!", "text/html", MalformedResponseError, "text/html"),
    "choices": (sse({"choices": "x"}), SSE, MalformedResponseError, "choices"),
    "a choice": (sse({"choices": [1]}), SSE, MalformedResponseError, "choice"),
    "a delta": (
        sse({"choices": [{"delta": "x"}]}),
        SSE,
        MalformedResponseError,
        "delta",
    ),
    "content": (sse(delta(content=7)), SSE, MalformedResponseError, "content"),
    "tool_calls": (sse(delta(tool_calls=7)), SSE, MalformedResponseError, "tool_calls"),
    "a call": (sse(delta(tool_calls=[7])), SSE, MalformedResponseError, "tool call"),
    "a function": (sse(call(function=7)), SSE, MalformedResponseError, "function"),
    "arguments that are no JSON": (
        sse(
            b'data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f",'
            b'"arguments":{"x":NaN}}}]}}]}\n\n'
        ),
        SSE,
        MalformedResponseError,
        "not JSON",
    ),
    "an error in place of a chunk": (
        sse({"error": {"message": "upstream limit", "code": 502}}, done=False),
        SSE,
        ServerError,
        "502 Bad Gateway: upstream limit",
    ),
    "an error beside choices": (
        sse({"error": {"message": "Token limit", "code": 400}, **finish("length")}),
        SSE,
        BadRequestError,
        "Token limit",
    ),
    "an error event": (
        b'event: error\ndata: {"error":{"message":"no schema","status_code":400}}\n\n',
        SSE,
        BadRequestError,
        "no schema",
    ),
    "an error event of text": (
        b"event: error\ndata: out of memory\n\n",
        SSE,
        ProviderStreamError,
        "out of memory",
    ),
    "an error by its words": (
        sse({"error": {"message": "slow down", "type": "rate_limit_error"}}),
        SSE,
        RateLimitError,
        "slow down",
    ),
    "an error of the old vLLM": (
        sse({"object": "error", "message": "bad key", "code": 401}),
        SSE,
        AuthenticationError,
        "bad key",
    ),
    "an error by its type": (
        sse(
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
        ),
        SSE,
        OverloadedError,
        "busy",
    ),
    "an error of unknown kind": (
        sse({"error": "something broke"}),
        SSE,
        ProviderStreamError,
        "something broke",
    ),
    "an error as JSON": (
        b'{"error": {"message": "no such model", "code": "model_not_found"}}',
        "application/json",
        BadRequestError,
        "no such model",
    ),
    "an error whose status is text": (
        sse({"error": {"message": "busy", "status": "503"}}),
        SSE,
        OverloadedError,
        "busy",
    ),
    "errors in a list": (
        b'[{"error": {"message": "quota", "code": 429}}]',
        SSE,
        RateLimitError,
        "quota",
    ),
}


@pytest.mark.parametrize(
    ("data", "content_type", "kind", "words"), FAILURES.values(), ids=FAILURES
)
def test_what_is_no_answer_is_a_typed_error_wherever_it_is_cut(
    data: bytes, content_type: str, kind: type[ModelError], words: str
) -> None:
    for pieces in every_cut(data):
        error = failure(pieces, content_type=content_type)
        assert isinstance(error, kind), pieces
        assert error.provider == "openai"
    with pytest.raises(kind, match=words):
        raise failure([data], content_type=content_type)


def test_what_came_before_an_error_in_the_same_read_is_delivered() -> None:
    data = sse(delta(content="Working"), {"error": {"message": "x", "code": 502}})

    outcome = decode([data])

    assert outcome.events == [TextDelta(text="Working")]
    assert isinstance(outcome.error, ServerError)


def test_the_status_of_an_error_is_the_one_that_the_provider_names() -> None:
    named = failure([sse({"error": {"message": "x", "code": "502"}})])
    worded = failure([sse({"error": {"message": "x", "type": "server_error"}})])

    assert (named.status, worded.status) == (502, None)
    assert isinstance(worded, ServerError)
    assert str(worded).endswith("in its answer: x (code: server_error)")


def test_an_error_carries_the_tokens_that_were_counted() -> None:
    counted = {"prompt_tokens": 43, "completion_tokens": 10, "total_tokens": 53}

    error = failure([sse({"error": {"message": "x"}, "usage": counted})])
    other = failure([sse({"error": {"message": "x"}})])

    assert error.usage is not None
    assert error.usage.total_tokens == 53
    assert other.usage is None


def test_a_choice_with_both_a_message_and_a_delta_is_read_once() -> None:
    """As Perplexity sends them, in one piece and streamed."""

    def choice(message: str, delta: str, reason: str | None) -> Json:
        said = {"message": {"content": message}, "delta": {"content": delta}}
        return {"choices": [{"index": 0, **said, "finish_reason": reason}]}

    at_once = json.dumps(choice("Hello", "", "stop")).encode()
    in_pieces = sse(choice("Hel", "Hel", None), choice("Hello", "lo", "stop"))

    assert decode([at_once]).response.message == AssistantMessage.of("Hello")
    assert decode([in_pieces]).response.message == AssistantMessage.of("Hello")


def test_a_completion_may_hold_half_of_a_pair() -> None:
    data = b'{"choices":[{"message":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'

    assert decode([data], content_type="application/json").response.text == "a\ufffd"


def test_half_of_the_end_mark_is_the_end() -> None:
    data = sse(delta(content="a"), finish("stop"), b"data: [DO", done=False)

    assert decode([data]).response.text == "a"


members = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "index",
        "error",
        "usage",
        "code",
        "type",
        "finish_reason",
        "reasoning",
        "refusal",
        "function_call",
        "prompt_tokens",
        "x_groq",
        "text",
        "thinking",
        "status",
        "detail",
        "loc",
        "object",
        "model",
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-1, 600)
    | st.floats()
    | st.text(st.characters() | st.just("\ud83d"), max_size=3)
    | st.sampled_from(["text", "thinking", "error", "stop", "{}", "invalid_api_key"])
)
odd_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4)
    ),
    max_leaves=12,
)
odd_chunk = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "delta": st.dictionaries(members, odd_json, max_size=4),
                    "index": st.just(0),
                    "finish_reason": scalars,
                },
            ),
            max_size=2,
        ),
        "usage": odd_json,
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


@given(st.lists(odd_chunk | odd_json, max_size=4), st.booleans(), st.booleans())
def test_any_json_gives_events_or_a_typed_error(
    chunks: list[object], done: bool, think_tags: bool
) -> None:
    """And every string that is delivered fits UTF-8."""
    data = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in chunks)
    dialect = OpenAIChatDialect(think_tags=think_tags)

    outcome = decode([data + (DONE if done else b"")], dialect=dialect)

    for text in (str(outcome.error), *strings(outcome.events)):
        text.encode()


@given(st.binary(max_size=200) | st.text('{}[]",:dat \n<').map(str.encode))
def test_any_bytes_give_events_or_a_typed_error(data: bytes) -> None:
    for content_type in (SSE, "application/json", "text/html", ""):
        outcome = decode([data], content_type=content_type)
        halves = decode([data[:5], data[5:]], content_type=content_type)

        assert type(outcome.error) is type(halves.error)


words = st.text(max_size=5)
good_deltas = st.one_of(
    words.map(lambda text: delta(content=text)),
    words.map(lambda text: delta(reasoning_content=text)),
    words.map(lambda text: delta(refusal=text)),
    st.tuples(st.integers(0, 2), words).map(
        lambda pair: call(
            pair[0],
            id=f"id{pair[0]}",
            function={"name": f"f{pair[0]}", "arguments": pair[1]},
        )
    ),
    st.just({"choices": []}),
    st.integers(1, 9).map(
        lambda n: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": n}}
    ),
)


@given(
    st.lists(good_deltas, max_size=8),
    st.sampled_from(["stop", "length", "tool_calls"]),
    st.lists(st.integers(0, 2000), max_size=6),
)
def test_any_answer_is_the_same_wherever_it_is_cut(
    deltas: list[Json], reason: str, cuts: list[int]
) -> None:
    data = sse(*deltas, finish(reason))
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]

    def told(outcome: Outcome) -> object:
        response = outcome.response
        return (
            outcome.events[:-1],
            response.message.text,
            response.message.reasoning,
            response.message.refusal,
            [(each.name, each.arguments) for each in response.tool_calls],
            response.finish_reason,
            response.usage,
        )

    assert told(decode(pieces)) == told(decode([data]))


def test_reasoning_details_go_back_as_they_came() -> None:
    """Pieces of one index and type are one detail; what is encrypted comes whole."""
    text = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    hidden = {"type": "reasoning.encrypted", "index": 0}
    pieces: list[Json] = [
        delta(reasoning="Let me ", reasoning_details=[{**text, "text": "Let me "}]),
        delta(reasoning_details=[{**text, "text": "see."}]),
        delta(reasoning_details=[{**text, "signature": "S", "text": None}]),
        delta(reasoning_details=[{**hidden, "id": "a", "data": "AA"}]),
        delta(reasoning_details=[{**hidden, "id": "b", "data": "BB"}]),
        call(id="c", function={"name": "f", "arguments": "{}"}),
        finish("tool_calls"),
    ]
    dialect = OpenAIChatDialect(
        name="openrouter", send_reasoning="tool_calls", reasoning_member="reasoning"
    )

    message = decode([sse(*pieces)], dialect=dialect).response.message

    assert message.reasoning == "Let me see."
    result = ToolMessage.of("ok", call=message.tool_calls[0])
    request = ChatRequest(messages=(UserMessage.of("hi"), message, result))
    sent = json.loads(dialect.encode(request, model="m", stream=True))["messages"][1]
    assert sent["reasoning_details"] == [
        {**text, "text": "Let me see.", "signature": "S"},
        {**hidden, "id": "a", "data": "AA"},
        {**hidden, "id": "b", "data": "BB"},
    ]
    assert "reasoning" not in sent
    other = OpenAIChatDialect(name="other").encode(request, model="m", stream=True)
    assert b"reasoning_details" not in other
