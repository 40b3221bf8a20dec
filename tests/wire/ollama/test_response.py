from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.context import Context
from rxagent.errors import (
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
from rxagent.messages import AssistantMessage, Reasoning, ToolCall, UserMessage
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.usage import Usage
from rxagent.wire import OllamaDialect, parse_arguments

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),),
    context=Context({"k": "v"}),
    origin=Origin(run_id="r", round=3),
)
NDJSON = "application/x-ndjson"

Json = Mapping[str, object]


def says(content: str = "", **members: object) -> Json:
    message = {"role": "assistant", "content": content, **members}
    return {"model": "m", "created_at": "2026", "message": message, "done": False}


def done(reason: str | None = "stop", content: str = "", **members: object) -> Json:
    line: dict[str, object] = {**says(content), "done": True, **members}
    return line if reason is None else {**line, "done_reason": reason}


def calls(*functions: Json, **call: object) -> Json:
    return says(tool_calls=[{**call, "function": function} for function in functions])


def ndjson(*lines: Json, ascii_only: bool = False) -> bytes:
    texts = [json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    return b"".join(text.encode() + b"\n" for text in texts)


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

    @property
    def summary(self) -> object:
        """What can be compared: ids that we make up differ."""
        events = [
            (each.response.text, each.response.finish_reason, each.response.usage)
            if isinstance(each, Finished)
            else each
            for each in self.events
        ]
        return events, type(self.error), str(self.error)


def decode(pieces: Iterable[bytes], *, content_type: str = NDJSON) -> Outcome:
    decoder = OllamaDialect().decoder(REQUEST, content_type=content_type)
    events: list[ChatEvent] = []
    try:
        for piece in pieces:
            events.extend(each for each in decoder.feed(piece))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return Outcome(events, error)
    return Outcome(events, None)


def failure(*lines: Json) -> ModelError:
    error = decode([ndjson(*lines)]).error
    assert error is not None
    return error


ANSWER = ndjson(
    says(thinking="hm"),
    says(thinking=", well"),
    says("Hel"),
    says("lo 北京🚀"),
    calls({"index": 0, "name": "f", "arguments": {"x": 1, "y": ["ü"]}}, id="t1"),
    done(
        content="!",
        total_duration=174560334,
        prompt_eval_count=9,
        eval_count=5,
        eval_duration=52479709,
    ),
)


def test_an_answer_is_a_delta_for_each_line_and_its_end() -> None:
    message = AssistantMessage.of(
        Reasoning(text="hm, well"),
        "Hello 北京🚀",
        ToolCall(id="t1", name="f", arguments='{"x":1,"y":["ü"]}'),
        "!",
    )
    response = ChatResponse(
        message=message,
        finish_reason="tool_calls",
        finish_reason_raw="stop",
        usage=Usage(input_tokens=9, output_tokens=5, requests=1, basis="declared"),
        model="m",
        context=REQUEST.context,
        transcript=(message,),
    )

    events = decode([ANSWER]).events

    assert events == [
        ReasoningDelta(text="hm"),
        ReasoningDelta(text=", well"),
        TextDelta(text="Hel"),
        TextDelta(text="lo 北京🚀"),
        ToolCallDelta(index=0, id="t1", name="f", arguments='{"x":1,"y":["ü"]}'),
        TextDelta(text="!"),
        Finished(response=response),
    ]
    assert {event.origin for event in events} == {REQUEST.origin}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\n\n", b"\n \r\n"])
def test_an_answer_is_the_same_wherever_it_is_cut(line_end: bytes) -> None:
    assert_cut_anywhere(
        lambda: OllamaDialect().decoder(REQUEST, content_type=NDJSON),
        ANSWER.replace(b"\n", line_end),
    )


def test_the_last_line_needs_no_end() -> None:
    assert decode([ANSWER[:-1]]).events == decode([ANSWER]).events


def test_two_decoders_share_nothing() -> None:
    one = OllamaDialect().decoder(REQUEST, content_type=NDJSON)
    other = OllamaDialect().decoder(REQUEST, content_type=NDJSON)
    list(one.feed(ANSWER))

    with pytest.raises(EmptyStreamError):
        other.flush()


def test_a_whole_answer_is_one_object() -> None:
    message = {"role": "assistant", "content": "Hi", "thinking": "hm"}
    whole = done(message=message)
    for text in (json.dumps(whole), json.dumps(whole, indent=2)):
        for pieces in every_cut(text.encode()):
            response = decode(pieces, content_type="application/json").response
            assert (response.text, response.reasoning) == ("Hi", "hm")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("load", "unknown"),
        ("unload", "unknown"),
        ("something new", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_done_reason_is_mapped_and_kept(raw: str | None, reason: str) -> None:
    response = decode([ndjson(says("a"), done(raw))]).response

    assert (response.finish_reason, response.finish_reason_raw) == (reason, raw)


def test_calls_without_ids_get_different_ones() -> None:
    function = {"name": "f", "arguments": {}}
    answer = ndjson(calls(function, function), calls(function), done())

    found = decode([answer]).response.tool_calls

    assert [call.name for call in found] == ["f", "f", "f"]
    assert len({call.id for call in found}) == 3
    assert all(call.id for call in found)


def test_calls_that_share_an_id_or_a_number_stay_apart() -> None:
    """Older servers call each of them number 0."""
    one = {"index": 0, "name": "f", "arguments": {"x": 1}}
    two = {"index": 0, "name": "g", "arguments": {"x": 2}}
    answer = ndjson(calls(one, id="t"), calls(two, id="t"), done())

    first, second = decode([answer]).response.tool_calls

    assert (first.id, first.name, first.arguments) == ("t", "f", '{"x":1}')
    assert (second.name, second.arguments) == ("g", '{"x":2}')
    assert second.id != "t"


def test_a_call_that_is_said_twice_is_one_call() -> None:
    line = calls({"name": "f", "arguments": {"x": 1}}, id="t")

    assert len(decode([ndjson(line, line, done())]).response.tool_calls) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"a": {"b": [None, True, 1.5, "é"]}}, '{"a":{"b":[null,true,1.5,"é"]}}'),
        ({"n": 2**70}, '{"n":1180591620717411303424}'),
        (None, "{}"),
        ('{"x": 1}', '{"x": 1}'),
        ([1], "[1]"),
    ],
)
def test_arguments_become_text(arguments: object, text: str) -> None:
    answer = ndjson(calls({"name": "f", "arguments": arguments}), done())

    assert decode([answer]).response.tool_calls[0].arguments == text


@given(
    arguments=st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_arguments_come_back_as_they_were(arguments: Json) -> None:
    answer = ndjson(calls({"name": "f", "arguments": arguments}), done())

    [call] = decode([answer]).response.tool_calls

    assert parse_arguments(call.arguments) == arguments


def test_a_call_that_the_token_limit_cut_must_not_run() -> None:
    answer = ndjson(calls({"name": "f", "arguments": {}}), done("length"))

    response = decode([answer]).response

    assert response.finish_reason == "length"
    assert response.tool_calls[0].truncated


def test_tokens_that_nobody_counted_are_unknown() -> None:
    response = decode([ndjson(says("a"), done(eval_count=True))]).response

    assert response.usage == Usage(requests=1, sure=False)


def test_what_comes_after_the_end_is_not_read() -> None:
    answer = ndjson(says("a"), done(), says("b"), {"error": "late"}) + b"<html>"

    assert decode([answer]).response.text == "a"


def test_unknown_lines_and_members_are_ignored() -> None:
    answer = ndjson(
        {"status": "warming up"},
        {**says("a", images=None, mood="good"), "logprobs": [{"token": "a"}]},
        {"model": 5, "message": None},
        done(remote_host="https://ollama.com"),
    )

    response = decode([answer]).response

    assert (response.text, response.model) == ("a", "m")


def test_halves_of_surrogate_pairs_are_joined_across_lines() -> None:
    answer = ndjson(
        says("a\ud83d"),
        says("\ude80b", thinking="\ud83d"),
        calls({"name": "f\ud83d", "arguments": {"x": "\ud83d"}}, id="\ud83d"),
        {**done(), "model": "m\ud83d"},
        ascii_only=True,
    )

    for pieces in every_cut(answer):
        response = decode(pieces).response
        assert response.text == "a🚀b"
        assert response.reasoning == "\ufffd"
        assert response.model == "m\ufffd"
        [call] = response.tool_calls
        assert (call.id, call.name) == ("\ufffd", "f\ufffd")
        assert call.arguments == '{"x":"\ufffd"}'


def test_an_error_within_the_stream_comes_after_what_was_good() -> None:
    answer = ndjson(says("Yes"), {"error": "the runner has stopped"})

    for pieces in every_cut(answer):
        outcome = decode(pieces)
        assert outcome.events == [TextDelta(text="Yes")]
        assert isinstance(outcome.error, ProviderStreamError)
        assert "the runner has stopped" in str(outcome.error)


def test_an_error_of_the_cloud_behind_a_server_keeps_its_status() -> None:
    report = {
        "StatusCode": 429,
        "Status": "429 Too Many Requests",
        "error": "usage limit",
    }

    error = failure(says("a"), report)

    assert isinstance(error, RateLimitError)
    assert (error.status, error.retryable) == (429, True)


def test_an_error_that_names_its_status_is_of_its_type() -> None:
    assert isinstance(failure({"error": "busy", "status": 503}), OverloadedError)


def test_an_error_knows_what_was_counted_before() -> None:
    error = failure({**done(eval_count=5), "error": "late"})

    assert error.usage is not None
    assert error.usage.output_tokens == 5
    assert failure({"error": "early"}).usage is None


@pytest.mark.parametrize("length", range(1, len(ANSWER) - 1, 7))
def test_an_answer_that_is_cut_off_is_no_answer(length: int) -> None:
    """Wherever the connection is lost."""
    outcome = decode([ANSWER[:length]])

    assert isinstance(outcome.error, TruncatedStreamError)
    assert not any(isinstance(each, Finished) for each in outcome.events)


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n \n", b"\xef\xbb\xbf"])
def test_nothing_is_an_error_that_may_be_asked_again(data: bytes) -> None:
    for pieces in every_cut(data):
        error = decode(pieces).error
        assert isinstance(error, EmptyStreamError)
        assert error.retryable


@pytest.mark.parametrize(
    "data",
    [
        b"<html><body>Bad gateway</body></html>",
        b"\n<!doctype html>\n<html>\n",
        b"404 page not found",
        b"data: {}\n\n",
        b"Ollama is running",
        b"[1, 2]\n",
        b'"text"\n',
        b"null\n",
        b"{}\n",
        b'{"status":"ok"}\n',
        b'{"a":1}{"b":2}\n',
        b'{"a":\n]}',
    ],
)
def test_what_is_no_answer_is_said_to_be_none(data: bytes) -> None:
    for pieces in every_cut(data):
        error = decode(pieces, content_type="text/plain").error
        assert isinstance(error, MalformedResponseError), error
        assert not error.retryable


def test_a_page_of_a_proxy_is_named() -> None:
    outcome = decode([b"<html>no</html>"], content_type="text/html")

    assert "answered 200 with HTML of type 'text/html'" in str(outcome.error)


def test_a_broken_line_in_the_middle_is_told_at_once() -> None:
    decoder = OllamaDialect().decoder(REQUEST, content_type=NDJSON)
    list(decoder.feed(ndjson(says("a"))))

    with pytest.raises(MalformedResponseError, match="no chunk of an answer"):
        decoder.feed(b'{"message": {"con\n')


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"message": "hi"}, "message as a Python str"),
        ({"message": {"content": 5}}, "content as a Python int"),
        ({"message": {"thinking": ["x"]}}, "thinking as a Python list"),
        ({"message": {"tool_calls": {"a": 1}}}, "tool_calls as a Python dict"),
        ({"message": {"tool_calls": ["f"]}}, "a tool call as a Python str"),
        ({"message": {"tool_calls": [{}]}}, "a tool call as a Python dict"),
        (calls({"arguments": {}}), "the name of a tool as a Python NoneType"),
        (calls({"name": "", "arguments": {}}), "the name of a tool as a Python str"),
        (calls({"name": "f", "arguments": {"x": float("inf")}}), "not JSON"),
    ],
)
def test_what_has_another_shape_is_said_to_have_it(line: Json, problem: str) -> None:
    with pytest.raises(MalformedResponseError, match=problem):
        raise failure(line)


PIECES = st.text(max_size=8)


@given(
    thoughts=st.lists(PIECES, max_size=3),
    texts=st.lists(PIECES, max_size=4),
    cuts=st.lists(st.integers(0, 900), max_size=6),
    ascii_only=st.booleans(),
)
def test_joined_text_is_what_was_sent(
    thoughts: list[str], texts: list[str], cuts: list[int], ascii_only: bool
) -> None:
    answer = ndjson(
        *(says(thinking=thought) for thought in thoughts),
        *(says(text) for text in texts),
        done(),
        ascii_only=ascii_only,
    )
    edges = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]

    outcome = decode([answer[start:end] for start, end in pairwise(edges)])

    assert outcome.response.text == "".join(texts)
    assert outcome.response.reasoning == "".join(thoughts)
    deltas = [each.text for each in outcome.events if isinstance(each, TextDelta)]
    assert deltas == [text for text in texts if text]


@given(data=st.binary(max_size=80))
def test_any_bytes_end_in_an_answer_or_in_a_typed_error(data: bytes) -> None:
    outcomes = [decode(pieces).summary for pieces in every_cut(data)]

    assert outcomes.count(outcomes[0]) == len(outcomes)


@given(
    position=st.integers(0, len(ANSWER) - 1),
    noise=st.binary(max_size=4),
    removed=st.integers(0, 4),
    cuts=st.lists(st.integers(0, len(ANSWER)), max_size=4),
)
def test_a_broken_answer_is_the_same_wherever_it_is_cut(
    position: int, noise: bytes, removed: int, cuts: list[int]
) -> None:
    data = ANSWER[:position] + noise + ANSWER[position + removed :]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    cut = decode([data[start:end] for start, end in pairwise(edges)])

    assert cut.summary == decode([data]).summary


def test_every_string_of_a_line_fits_utf_8() -> None:
    half = "\ud800"
    function = {"name": f"f{half}", "arguments": half}
    lines = (calls(function, id=f"i{half}"), done(f"stop{half}", model=half))

    response = decode([ndjson(*lines, ascii_only=True)]).response

    [call] = response.tool_calls
    assert (call.id, call.name, call.arguments) == ("i\ufffd", "f\ufffd", "\ufffd")
    assert (response.finish_reason_raw, response.model) == ("stop\ufffd", "\ufffd")


@pytest.mark.parametrize(
    "body",
    [
        b'[{"error": "out of memory"}]',
        b'[\n{"error": "out of memory"}\n]',
        b'data: {"error": "out of memory"}\n\n',
    ],
)
def test_an_error_is_read_however_a_gateway_wraps_it(body: bytes) -> None:
    error = decode([body]).error

    assert isinstance(error, ProviderStreamError)
    assert "out of memory" in str(error)


def test_json_that_is_no_line_is_shown() -> None:
    error = decode([b"[1,2,3]"]).error

    assert isinstance(error, MalformedResponseError)
    assert "'[1,2,3]'" in str(error)
