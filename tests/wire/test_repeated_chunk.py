from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire import SseDecoder
from rxagent.wire.anthropic import response as anthropic
from rxagent.wire.gemini import response as gemini
from rxagent.wire.json_text import is_object
from rxagent.wire.ollama import response as ollama
from rxagent.wire.openai_chat import response as openai_chat
from rxagent.wire.openai_responses import response as openai_responses
from rxagent.wire.repeated_chunk import RepeatedChunk

Json: TypeAlias = dict[str, Any]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FRAMES = ["data: {}\n\n", "event: x\r\ndata:{}\r\n\r\n", ": hi\ndata: {}\n\n: ho\n\n"]


def piece_in(chunk: Json) -> str | None:
    said, others = chunk.get("said"), chunk.keys() - {"said", "n", "pad", "id"}
    return said if isinstance(said, str) and not others else None


def chunk(text: str, *, n: object = 7, pad: object = "zz", id_: str = "c") -> Json:
    return {"n": n, "id": id_, "said": text, "pad": pad}


def fresh() -> RepeatedChunk:
    return RepeatedChunk(piece_in, piece=("said",), idle=("n", "pad"))


def learned(text: str = "a", *, frame: str = "data: {}\n\n") -> RepeatedChunk:
    repeated, data = fresh(), json.dumps(chunk(text))
    repeated.learn(data, chunk(text), "name")
    repeated.learn_read(frame.format(data).encode(), alone=True)
    return repeated


@given(TEXTS, TEXTS, st.integers(0), TEXTS, st.booleans(), st.sampled_from(FRAMES))
def test_a_chunk_that_differs_in_its_holes_alone_is_read(
    first: str, second: str, n: int, pad: str, is_ascii: bool, frame: str
) -> None:
    data = json.dumps(chunk(second, n=n, pad=pad), ensure_ascii=is_ascii)
    repeated = learned(first, frame=frame)

    assert repeated.piece_of(data, "name") == second
    assert repeated.piece_of_read(frame.format(data).encode()) == second


@given(st.binary(max_size=20) | st.text('"\\,:{}npad1\n ').map(str.encode), st.data())
def test_a_read_that_is_read_is_one_event_that_says_this(
    body: bytes, data: st.DataObject
) -> None:
    """Newlines, broken UTF-8, quotes and other members, in the place of any value."""
    read = b"data: %b\n\n" % json.dumps(chunk("SAID", n=1, pad="PAD")).encode()
    place = data.draw(st.sampled_from([b"SAID", b"1", b"PAD"]))
    read = read.replace(place, body, 1)

    piece = learned().piece_of_read(read)

    if piece is not None:
        [event] = SseDecoder().feed(read)
        found = json.loads(event.data)
        assert list(found) == list(chunk(""))
        assert found["said"] == piece
        assert isinstance(found["n"], int)
        assert isinstance(found["pad"], str)


@given(st.text(), st.sampled_from(["SAID", "1", "PAD"]))
def test_what_is_read_is_what_the_whole_json_says(body: str, place: str) -> None:
    """Whatever stands in the place of a value, raw: quotes, braces, half escapes."""
    data = json.dumps(chunk("SAID", n=1, pad="PAD")).replace(place, body, 1)

    piece = learned().piece_of(data, "name")

    if piece is not None:
        assert piece_in(json.loads(data)) == piece


@given(st.data())
def test_a_chunk_with_a_piece_cut_out_is_not_read(data: st.DataObject) -> None:
    """What stands before a hole and behind it must not overlap."""
    whole = json.dumps(chunk("ab"))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    cut = whole[:start] + whole[end:]

    piece = learned("ab").piece_of(cut, "name")

    assert piece is None or piece_in(json.loads(cut)) == piece


def test_the_smallest_broken_chunk_is_not_read() -> None:
    repeated = fresh()
    repeated.learn('{"said":"ab"}', {"said": "ab"})

    assert repeated.piece_of('{"said":"x"}') == "x"
    assert repeated.piece_of('{"said":"}') is None


def test_a_read_is_a_repetition_only_as_a_whole() -> None:
    one = f"data: {json.dumps(chunk('a'))}\n\n".encode()

    assert learned().piece_of_read(one) == "a"
    assert learned().piece_of_read(one + one) is None
    assert learned().piece_of_read(one[:-1]) is None
    assert learned().piece_of_read(b"event: error\n" + one) is None


@pytest.mark.parametrize(
    "other",
    [
        chunk("b", id_="c-2"),
        chunk("b", n="7"),
        chunk("b", n=1.5),
        chunk("b", pad=["zz"]),
        {**chunk("b"), "more": 1},
        {"said": "b"},
    ],
)
def test_a_chunk_that_differs_elsewhere_is_not_read(other: Json) -> None:
    assert learned().piece_of(json.dumps(other), "name") is None


def test_a_number_is_as_json_writes_it() -> None:
    data = json.dumps(chunk("b"))
    assert learned().piece_of(data.replace("7", "0"), "name") == "b"
    for odd in ("07", "²", "", "-1", "1e5", " 7"):
        assert learned().piece_of(data.replace("7", odd), "name") is None


def test_an_event_of_another_name_is_another_event() -> None:
    assert learned().piece_of(json.dumps(chunk("b")), "error") is None


def test_the_member_that_is_read_is_the_one_that_is_filled() -> None:
    """Not another one of that name, though it says the same."""

    def inner(chunk: Json) -> str | None:
        found = chunk["in"].get("said")
        return found if isinstance(found, str) else None

    for data in (
        '{"said": "a", "in": {"said": "a"}}',
        '{"in": {"said": "a"}, "said": "a"}',
        '{"in": {"said": "a", "pad": 1}, "b": {"said": "a"}}',
    ):
        repeated = RepeatedChunk(inner, piece=("said",))
        repeated.learn(data, json.loads(data))
        there = data.index('"said"', data.index("in"))
        other = data[:there] + data[there:].replace('"a"', '"b"', 1)
        assert repeated.piece_of(other) == "b"
        assert repeated.piece_of(data.replace('"a"', '"b"')) is None


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ('{"said": "a", "more": 1}', {"said": "a", "more": 1}),
        ('{"said": 1}', {"said": 1}),
        (r'{"sa\u0069d": "a"}', {"said": "a"}),
    ],
    ids=["says more", "no text", "spelt otherwise"],
)
def test_a_chunk_that_says_more_or_otherwise_is_not_learned(
    data: str, value: Json
) -> None:
    repeated = fresh()
    repeated.learn(data, value)
    repeated.learn_read(data.encode(), alone=True)

    assert repeated.piece_of(data) is None
    assert repeated.piece_of_read(data.encode()) is None


def test_a_frame_is_learned_from_a_read_that_is_one_event_of_one_line() -> None:
    data = json.dumps(chunk("a"))
    read = f"data: {data}\n\n".encode()
    reads = {
        "two events": (read, False),
        "a comment says the same": (b": %b\n%b" % (data.encode(), read), True),
        "another one": (b"data: {}\n\n", True),
    }
    for each, alone in reads.values():
        repeated = fresh()
        repeated.learn(data, chunk("a"))
        repeated.learn_read(each, alone=alone)
        assert repeated.piece_of_read(each) is None
        assert repeated.piece_of(data) == "a"


def test_data_of_several_lines_is_learned_for_events_and_not_for_reads() -> None:
    data, repeated = json.dumps(chunk("a"), indent=1), fresh()
    repeated.learn(data, chunk("a"))
    repeated.learn_read(data.encode(), alone=True)

    assert repeated.piece_of(data) == "a"
    assert repeated.piece_of_read(data.encode()) is None


def test_what_was_forgotten_is_no_repetition() -> None:
    repeated, data = learned(), json.dumps(chunk("a"))
    repeated.forget()

    assert repeated.piece_of(data, "name") is None
    assert repeated.piece_of_read(f"data: {data}\n\n".encode()) is None
    assert fresh().piece_of(data) is None


def test_a_server_that_never_repeats_itself_is_not_learned_for_ever() -> None:
    repeated = fresh()
    for number in range(100):
        new = chunk("a", id_=str(number))
        repeated.learn(json.dumps(new), new)

    assert repeated.piece_of(json.dumps(chunk("a", id_="99"))) is None


# What each dialect says is a piece and nothing else: more, and it is read whole.

CHOICE: Json = {"index": 0, "delta": {"content": "a"}, "finish_reason": None}
LINE: Json = {"message": {"role": "assistant", "content": "a"}, "done": False}


def choices(*choices: Json, **members: object) -> Json:
    return {"choices": [*choices], **members}


def said(delta: Json, **members: object) -> Json:
    return choices({**CHOICE, "delta": delta, **members})


def block(delta: object, **members: object) -> Json:
    return {"type": "content_block_delta", "index": 0, "delta": delta, **members}


def parts(*parts: Json, candidate: Json | None = None, **members: object) -> Json:
    found: Json = {"content": {"parts": [*parts]}, **(candidate or {})}
    return {"candidates": [found], **members}


PIECES: list[tuple[Callable[[Json], str | None], Json, str | None]] = [
    (openai_chat.piece_in, choices(CHOICE, usage=None), "a"),
    (openai_chat.piece_in, said({"content": None, "reasoning": "a"}), "a"),
    (openai_chat.piece_in, said({"role": "assistant", "content": "a"}), "a"),
    (openai_chat.piece_in, said({"content": "a", "reasoning": "a"}), None),
    (openai_chat.piece_in, said({"content": "a", "tool_calls": [{}]}), None),
    (openai_chat.piece_in, said({"content": ["a"]}), None),
    (openai_chat.piece_in, said({"refusal": "a"}), None),
    (openai_chat.piece_in, said({"content": "a"}, finish_reason="stop"), None),
    (openai_chat.piece_in, said({"content": "a"}, index=1), None),
    (openai_chat.piece_in, choices(CHOICE, CHOICE), None),
    (openai_chat.piece_in, choices(CHOICE, usage={"prompt_tokens": 1}), None),
    (openai_chat.piece_in, choices(CHOICE, error={"message": "no"}), None),
    (openai_chat.piece_in, choices(CHOICE, x_groq={"usage": {}}), None),
    (openai_chat.piece_in, {"choices": []}, None),
    (anthropic.piece_in, block({"type": "text_delta", "text": "a"}), "a"),
    (anthropic.piece_in, block({"type": "thinking_delta", "thinking": "a"}), "a"),
    (anthropic.piece_in, block({"type": "signature_delta", "signature": "a"}), None),
    (anthropic.piece_in, block({"type": "text_delta", "text": 1}), None),
    (anthropic.piece_in, block(["text_delta"]), None),
    (anthropic.piece_in, block({"type": "text_delta", "text": "a"}, error="x"), None),
    (anthropic.piece_in, {"type": "ping", "delta": {"text": "a"}}, None),
    (
        openai_responses.piece_in,
        {"type": "response.output_text.delta", "delta": "a"},
        "a",
    ),
    (openai_responses.piece_in, {"type": "response.output_text.delta"}, None),
    (openai_responses.piece_in, {"type": "response.refusal.delta", "delta": "a"}, None),
    (gemini.piece_in, parts({"text": "a"}, usageMetadata={"totalTokenCount": 1}), "a"),
    (gemini.piece_in, parts({"text": "a", "thought": True}), "a"),
    (gemini.piece_in, parts({"text": "a", "thoughtSignature": "s"}), None),
    (gemini.piece_in, parts({"text": "a"}, {"text": "a"}), None),
    (gemini.piece_in, parts({"text": "a"}, candidate={"finishReason": "STOP"}), None),
    (gemini.piece_in, parts({"text": "a"}, error={"message": "no"}), None),
    (gemini.piece_in, parts({"text": 1}), None),
    (gemini.piece_in, {"promptFeedback": {"blockReason": "OTHER"}}, None),
    (gemini.piece_in, {"candidates": []}, None),
    (ollama.piece_in, LINE, "a"),
    (ollama.piece_in, {"message": {"content": "", "thinking": "a"}}, "a"),
    (ollama.piece_in, {"message": {"content": "a", "thinking": "a"}}, None),
    (ollama.piece_in, {"message": {"content": "a", "tool_calls": [{}]}}, None),
    (ollama.piece_in, {**LINE, "done": True}, None),
    (ollama.piece_in, {**LINE, "error": "no"}, None),
    (ollama.piece_in, {"message": {"content": ["a"]}}, None),
    (ollama.piece_in, {}, None),
]


@pytest.mark.parametrize(("read", "value", "piece"), PIECES)
def test_a_piece_is_all_that_its_chunk_says(
    read: Callable[[Json], str | None], value: Json, piece: str | None
) -> None:
    assert is_object(value)
    assert read(value) == piece
