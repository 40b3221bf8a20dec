from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire import SseDecoder
from rxagent.wire.openai_chat.repeated_chunk import RepeatedChunk

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def chunk(text: str, **members: object) -> dict[str, object]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return {"id": "c-1", "choices": [choice], "usage": None, **members}


def learned(text: str = "a") -> RepeatedChunk:
    repeated = RepeatedChunk()
    repeated.learn(json.dumps(chunk(text)), chunk(text))
    return repeated


@given(TEXTS, TEXTS, st.booleans())
def test_a_chunk_that_differs_in_its_text_alone_is_read(
    first: str, second: str, is_ascii: bool
) -> None:
    data = json.dumps(chunk(second), ensure_ascii=is_ascii)

    assert learned(first).text_of(data) == second
    assert learned(first).text_of_read(f"data: {data}\n\n".encode()) == second


@given(st.binary())
def test_a_read_that_is_read_is_one_event(body: bytes) -> None:
    """Newlines, broken UTF-8 and a second event in the place of the text."""
    read = f"data: {json.dumps(chunk('PLACE'))}\n\n".encode().replace(b"PLACE", body)

    text = learned().text_of_read(read)

    if text is not None:
        [event] = SseDecoder().feed(read)
        assert json.loads(event.data) == chunk(text)


def test_two_events_in_a_read_are_not_read_as_one() -> None:
    one = f"data: {json.dumps(chunk('a'))}\n\n".encode()

    assert learned().text_of_read(one) == "a"
    assert learned().text_of_read(one + one) is None
    assert learned().text_of_read(one[:-1]) is None
    assert learned().text_of_read(b"event: error\n" + one) is None


def test_data_of_several_lines_is_learned_for_events_and_not_for_reads() -> None:
    data = json.dumps(chunk("a"), indent=1)
    repeated = RepeatedChunk()
    repeated.learn(data, chunk("a"))

    assert repeated.text_of(data) == "a"
    assert repeated.text_of_read(f"data: {data}\n\n".encode()) is None


@given(st.text())
def test_what_is_read_is_what_the_whole_json_says(body: str) -> None:
    """Whatever stands in the place of the text, raw: quotes, braces, half escapes."""
    data = json.dumps(chunk("PLACE")).replace("PLACE", body)

    text = learned().text_of(data)

    if text is not None:
        assert json.loads(data) == chunk(text)


@pytest.mark.parametrize(
    "other",
    [
        chunk("b", id="c-2"),
        chunk("b", usage={"completion_tokens": 1}),
        chunk("b", error={"message": "broken"}),
        {"choices": []},
    ],
    ids=["another id", "usage", "error", "no choice"],
)
def test_a_chunk_that_differs_elsewhere_is_not_read(other: dict[str, object]) -> None:
    assert learned().text_of(json.dumps(other)) is None


@pytest.mark.parametrize(
    "odd",
    [
        chunk("a", usage={"completion_tokens": 1}),
        chunk("a", error={"message": "broken"}),
        chunk("a", x_groq={"usage": {}}),
        {"choices": [{"index": 1, "delta": {"content": "a"}}]},
        {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": "a", "reasoning": "b"}}]},
        {"choices": [{"delta": {"content": "a", "tool_calls": [{}]}}]},
        {"choices": [{"delta": {"content": ["a"]}}]},
        {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]},
        {"choices": [{"delta": {"content": "a"}}], "note": {"content": "z"}},
    ],
)
def test_a_chunk_that_says_more_than_text_is_not_learned(
    odd: dict[str, object],
) -> None:
    repeated = RepeatedChunk()
    data = json.dumps(odd)
    repeated.learn(data, odd)

    text = repeated.text_of(data)

    assert text is None or json.loads(data)["choices"] == [{"delta": {"content": text}}]


@given(st.data())
def test_a_chunk_with_a_piece_cut_out_is_not_read(data: st.DataObject) -> None:
    """What stands before the text and behind it must not overlap."""
    whole = json.dumps(chunk("ab"))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    cut = whole[:start] + whole[end:]

    text = learned("ab").text_of(cut)

    assert text is None or json.loads(cut) == chunk(text)


def test_the_smallest_broken_chunk_is_not_read() -> None:
    small: dict[str, object] = {"choices": [{"delta": {"content": "ab"}}]}
    repeated = RepeatedChunk()
    repeated.learn(json.dumps(small, separators=(",", ":")), small)

    assert repeated.text_of('{"choices":[{"delta":{"content":"}}]}') is None


def test_nothing_is_read_before_something_was_learned() -> None:
    assert RepeatedChunk().text_of(json.dumps(chunk("a"))) is None


def test_a_server_that_never_repeats_itself_is_not_learned_for_ever() -> None:
    repeated = RepeatedChunk()
    for number in range(100):
        repeated.learn(json.dumps(chunk("a", n=number)), chunk("a", n=number))

    assert repeated.text_of(json.dumps(chunk("a", n=99))) is None
