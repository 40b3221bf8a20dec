"""The laws of decoders, over every dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from rxagent import wire
from rxagent.errors import ModelError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import UserMessage
from rxagent.requests import ChatRequest
from tests.wire.dialects import ANSWERS, DIALECTS, Answer, Part, Spoken
from tests.wire.work import work_of

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))

by_dialect = pytest.mark.parametrize("spoken", DIALECTS.values(), ids=DIALECTS)


def test_every_dialect_is_registered() -> None:
    there = {
        name
        for name in wire.__all__
        if name.endswith("Dialect") and hasattr(getattr(wire, name), "decoder")
    }
    assert there == DIALECTS.keys()
    for name, spoken in DIALECTS.items():
        assert type(spoken.dialect).__name__ == name


def decode(
    spoken: Spoken, reads: Iterable[bytes], *, content_type: str | None = None
) -> tuple[list[ChatEvent], ModelError | None]:
    """The events, and the error if there was one; any other exception is a failure."""
    kind = spoken.content_type if content_type is None else content_type
    decoder = spoken.dialect.decoder(REQUEST, content_type=kind)
    events: list[ChatEvent] = []
    try:
        for read in reads:
            events.extend(each for each in decoder.feed(read))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return events, error
    return events, None


def frames(spoken: Spoken, answer: Answer) -> list[bytes]:
    return [spoken.frame(event) for event in spoken.events(answer)]


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(each % (len(data) + 1) for each in places)})
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("name", sorted(DIALECTS.keys() - {"GeminiDialect"}))
def test_an_answer_is_over_with_its_mark_and_not_with_its_body(name: str) -> None:
    """Gemini has no such mark."""
    spoken = DIALECTS[name]
    decoder = spoken.dialect.decoder(REQUEST, content_type=spoken.content_type)
    read = frames(spoken, [Part("text", ["Hel", "lo"])])
    if name == "OpenAIChatDialect":
        read.append(b"data: [DONE]\n\n")
    were = [decoder.is_over]
    for each in read:
        list(decoder.feed(each))
        were.append(decoder.is_over)
    assert were == [False] * len(read) + [True]


@by_dialect
def test_an_error_keeps_the_text_that_came_before_it(spoken: Spoken) -> None:
    answer = [Part("text", ["Hel", "lo"]), Part("thought", ["?"]), Part("text", ["!"])]
    said = frames(spoken, answer)
    complaint = {"type": "error", "error": {"message": "no"}}
    _, error = decode(spoken, [*said[:-1], spoken.frame(complaint)])

    assert error is not None
    assert error.text == "Hello!"


CUTS = st.lists(st.integers(0, 5000), max_size=8)
FIELDS = st.dictionaries(
    st.sampled_from(["x_new", "trace"]), st.none() | st.integers() | st.text(max_size=3)
)


@by_dialect
@settings(max_examples=60)
@given(ANSWERS, CUTS, st.data())
def test_noise_and_cuts_change_nothing(
    spoken: Spoken, answer: list[Part], cuts: list[int], data: st.DataObject
) -> None:
    """Keep-alives, unknown events and unknown members, anywhere; and no read is sure
    to be an event."""
    expected, error = decode(spoken, [b"".join(frames(spoken, answer))])
    assert error is None
    noisy: list[bytes] = []
    for event in spoken.events(answer):
        noisy += data.draw(st.lists(st.sampled_from(spoken.noise), max_size=2))
        noisy.append(spoken.frame({**data.draw(FIELDS), **event, **data.draw(FIELDS)}))

    for reads in (frames(spoken, answer), noisy, cut(b"".join(noisy), cuts)):
        assert decode(spoken, reads) == (expected, None)

    *deltas, end = expected
    assert isinstance(end, Finished)
    response = end.response
    texts = [each.text for each in deltas if isinstance(each, TextDelta)]
    assert response.text == "".join(texts) == said(answer, "text")
    thoughts = [each.text for each in deltas if isinstance(each, ReasoningDelta)]
    assert response.reasoning == "".join(thoughts) == said(answer, "thought")
    assert [
        (each.name, json.loads(each.arguments)) for each in response.tool_calls
    ] == [("f", {"x": part.text}) for part in answer if part.kind == "call"]


def said(answer: Answer, kind: str) -> str:
    return "".join(part.text for part in answer if part.kind == kind)


@by_dialect
@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=40), max_size=5),
    st.sampled_from(["text/event-stream", "application/json", "text/html", ""]),
)
def test_any_bytes_are_events_or_a_model_error(
    spoken: Spoken, reads: list[bytes], content_type: str
) -> None:
    _, error = decode(spoken, reads, content_type=content_type)

    assert error is not None
    str(error).encode()


@by_dialect
@settings(max_examples=100)
@given(ANSWERS, st.integers(0, 5000), st.integers(0, 4), st.binary(max_size=4), CUTS)
def test_an_answer_with_broken_bytes_is_the_same_wherever_it_is_cut(
    spoken: Spoken,
    answer: list[Part],
    place: int,
    removed: int,
    put: bytes,
    cuts: list[int],
) -> None:
    """A read that is an event like the last one is read otherwise than its bytes."""
    reads = frames(spoken, answer)
    number = place % len(reads)
    start = place % len(reads[number])
    broken = reads[number][:start] + put + reads[number][start + removed :]
    reads[number] = broken
    whole = b"".join(reads)

    expected = told(decode(spoken, [whole[i : i + 1] for i in range(len(whole))]))

    assert told(decode(spoken, reads)) == expected
    assert told(decode(spoken, cut(whole, cuts))) == expected


def told(outcome: tuple[Sequence[ChatEvent], ModelError | None]) -> object:
    """What can be compared: ids of calls may be made up."""
    events, error = outcome
    shown = [
        (each.response.text, each.response.reasoning, each.response.usage)
        if isinstance(each, Finished)
        else each
        if isinstance(each, TextDelta | ReasoningDelta)
        else type(each)
        for each in events
    ]
    return shown, type(error)


Growing = Callable[[Spoken, int], list[bytes]]


def pieces(size: int) -> tuple[str, ...]:
    return ("some words",) * size


def many_pieces(spoken: Spoken, size: int) -> list[bytes]:
    return frames(spoken, [Part("text", pieces(size))])


def many_thoughts_in_one_read(spoken: Spoken, size: int) -> list[bytes]:
    return [b"".join(frames(spoken, [Part("thought", pieces(size))]))]


def many_parts(spoken: Spoken, size: int) -> list[bytes]:
    some = [Part("text", ("a",)), Part("call", ("b",)), Part("thought", ("c",))]
    return frames(spoken, some * (size // 4))


def one_long_piece(spoken: Spoken, size: int) -> list[bytes]:
    answer = [Part("text", ("".join(pieces(size)),)), Part("call", pieces(size))]
    return in_reads(b"".join(frames(spoken, answer)))


def noise(spoken: Spoken, size: int) -> list[bytes]:
    return [*spoken.noise] * size + frames(spoken, [Part("text", ("a",))])


def a_line_without_end(_: Spoken, size: int) -> list[bytes]:
    return in_reads(b"data: " + b"x" * 10 * size)


def an_object_without_end(_: Spoken, size: int) -> list[bytes]:
    return in_reads(b'{"x": "' + b"x" * 10 * size)


def an_object_on_many_lines(_: Spoken, size: int) -> list[bytes]:
    return in_reads(b"{" + b'"x": 1,\n' * size)


def in_reads(data: bytes) -> list[bytes]:
    return [data[start : start + 8] for start in range(0, len(data), 8)]


GROWING: list[Growing] = [
    many_pieces,
    many_thoughts_in_one_read,
    many_parts,
    one_long_piece,
    noise,
    a_line_without_end,
    an_object_without_end,
    an_object_on_many_lines,
]


@by_dialect
@pytest.mark.parametrize("growing", GROWING)
def test_twice_as_much_is_twice_the_work(spoken: Spoken, growing: Growing) -> None:
    """Counted, not timed; four times would be what re-reading costs."""
    few, many = growing(spoken, 200), growing(spoken, 400)

    work = work_of(lambda: decode(spoken, few))

    assert work_of(lambda: decode(spoken, many)) < 2.2 * work


class _Rereading:
    """Looks for an end of a line in all that has come, each time."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._text = '""'
        self._pieces: list[str] = []

    def feed(self, piece: str) -> None:
        self._text = self._text[:-1] + piece + '"'
        self._pieces.append(piece)
        match self._way:
            case "find":
                self._text.find("\n")
            case "parse":
                from_json(self._text)
            case "join":
                "".join(self._pieces)
            case _:
                self._look(self._text)

    def _look(self, text: str) -> str:
        return text


@pytest.mark.parametrize("way", ["find", "parse", "join", "call"])
def test_work_that_is_done_again_is_counted(way: str) -> None:
    def read(size: int) -> None:
        reader = _Rereading(way)
        for piece in pieces(size):
            reader.feed(piece)

    assert work_of(lambda: read(400)) > 3 * work_of(lambda: read(200))


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("AnthropicDialect", b"end_turn"),
        ("OllamaDialect", b"stop"),
        ("OpenAIChatDialect", b"stop"),
    ],
)
def test_an_answer_that_ends_in_an_error_is_none(name: str, good: bytes) -> None:
    spoken = DIALECTS[name]
    data = b"".join(frames(spoken, [Part("text", ["half"])]))
    assert data.count(b'"%b"' % good) == 1

    events, error = decode(spoken, [data.replace(b'"%b"' % good, b'"error"')])

    assert [type(event) for event in events] == [TextDelta]
    assert error is not None
    assert error.retryable
