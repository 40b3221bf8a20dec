from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.wire import SseDecoder, SseEvent

EVENTS: dict[str, tuple[bytes, list[SseEvent]]] = {
    "one line": (b"data: one\n\n", [SseEvent("one")]),
    "two lines": (b"data: a\ndata: b\n\n", [SseEvent("a\nb")]),
    "the space is optional": (b"data:a\n\n", [SseEvent("a")]),
    "one space is removed": (b"data:  a\n\n", [SseEvent(" a")]),
    "an empty data line is a line": (
        b"data: x\ndata:\ndata: y\n\n",
        [SseEvent("x\n\ny")],
    ),
    "a field without a colon is empty": (b"data\ndata\n\n", [SseEvent("\n")]),
    "carriage returns": (b"data: a\r\rdata: b\r\r", [SseEvent("a"), SseEvent("b")]),
    "both": (b"data: a\r\ndata: b\r\n\r\n", [SseEvent("a\nb")]),
    "mixed": (b"data: a\rdata: b\ndata: c\r\n\n", [SseEvent("a\nb\nc")]),
    "a name": (b"event: error\ndata: a\n\n", [SseEvent("a", "error")]),
    "an empty name": (b"event:\ndata: a\n\n", [SseEvent("a")]),
    "a name is for one event": (
        b"event: x\n\nevent: y\ndata: a\n\ndata: b\n\n",
        [SseEvent("a", "y"), SseEvent("b")],
    ),
    "comments": (b": ping\n\ndata: a\n: pong\n\n:\n\n", [SseEvent("a")]),
    "no data, no event": (b"id: 1\n\nevent: x\n\nretry: 5\n\n\n\n", []),
    "unknown fields": (b"nonsense: 1\ndata: a\n DATA: b\n\n", [SseEvent("a")]),
    "a mark at the start": (b"\xef\xbb\xbfdata: a\n\n", [SseEvent("a")]),
    "one mark only": (
        b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n",
        [SseEvent("b")],
    ),
    "no mark later": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [SseEvent("a")]),
    "half a mark": (b"\xef\xbb", []),
    "text is not cut at other line ends": (
        "data: a\u2028b\u0085c\u000bd\n\n".encode(),
        [SseEvent("a\u2028b\u0085c\u000bd")],
    ),
    "characters of four bytes": ("data: 北🚀\n\n".encode(), [SseEvent("北🚀")]),
    "bytes that are no UTF-8": (b"data: a\xffb\n\n", [SseEvent("a\ufffdb")]),
    "the last event needs no blank line": (
        b"data: a\n\ndata: b",
        [SseEvent("a"), SseEvent("b")],
    ),
    "the last event needs one line end only": (b"data: b\r\n", [SseEvent("b")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("data", "events"), EVENTS.values(), ids=EVENTS)
def test_bytes_become_events_wherever_they_are_cut(
    data: bytes, events: list[SseEvent]
) -> None:
    for pieces in every_cut(data):
        decoder = SseDecoder()
        out = [event for piece in pieces for event in decoder.feed(piece)]
        assert out + decoder.flush() == events, pieces


def test_an_event_is_delivered_with_the_read_that_completes_it() -> None:
    decoder = SseDecoder()

    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\ndata: b\r") == [SseEvent("a")]
    assert decoder.feed(b"\r") == [SseEvent("b")]
    assert decoder.feed(b"\ndata: c\n\n") == [SseEvent("c")]


def test_a_read_of_one_whole_event_may_follow_anything() -> None:
    """The short cut for the common read must not forget what waits."""
    for before in (
        b"data: a\n",
        b"event: x\n",
        b"dat",
        b": c\r",
        b"data: a\r",
        b"\xef",
    ):
        decoder = SseDecoder()
        careful = SseDecoder()
        read = b"data: b\n\n"
        events = decoder.feed(before) + decoder.feed(read) + decoder.flush()
        one_by_one = [bytes([byte]) for byte in before + read]
        expected = [event for byte in one_by_one for event in careful.feed(byte)]
        assert events == expected + careful.flush(), before


lines = st.lists(
    st.sampled_from(
        [b"data: a", b"data:", b"data", b"event: e", b": c", b"id: 1", b"x: y", b""]
    )
    | st.binary(max_size=6)
)
ends = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(
    st.lists(st.tuples(lines.map(b"".join), ends)).map(
        lambda ls: b"".join(a + b for a, b in ls)
    )
)
def test_any_bytes_give_the_events_of_the_specification(data: bytes) -> None:
    decoder = SseDecoder()

    assert decoder.feed(data) + decoder.flush() == by_the_book(data)
    assert_cut_anywhere(SseDecoder, data[:60])


def by_the_book(data: bytes) -> list[SseEvent]:
    """The specification, word by word and all at once, with our last event."""
    events: list[SseEvent] = []
    buffer, name = "", ""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    for line in [*re.split("\r\n|\r|\n", text), ""]:
        if line == "":
            if buffer:
                events.append(SseEvent(buffer[:-1], name or "message"))
            buffer = name = ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            buffer += value + "\n"
        elif field == "event":
            name = value
    return events


def test_a_line_of_megabytes_in_tiny_reads_is_read_in_linear_time() -> None:
    """sse-huge-data-line: a quadratic reader would copy a terabyte here."""
    decoder = SseDecoder()
    size = 2_000_000

    events = decoder.feed(b"data: ")
    for _ in range(size):
        events += decoder.feed(b"x")
    events += decoder.feed(b"\n\n")

    assert [len(event.data) for event in events] == [size]


def test_lines_that_are_no_fields_can_be_looked_at() -> None:
    """Some servers write an error behind the events, and no ``data:`` before it."""
    data = b': c\nid: 1\nretry: 2\nevent: e\ndata: a\n\n{\n "error": "x"\n}\n'
    for pieces in every_cut(data):
        decoder = SseDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)]
        events += decoder.flush()

        assert events == [SseEvent("a", "e")]
        assert decoder.stray == b'{\n "error": "x"\n}'


def test_of_a_flood_of_such_lines_some_are_kept() -> None:
    decoder = SseDecoder()

    assert decoder.feed(b"nonsense\n" * 100_000) == []

    assert decoder.stray.count(b"nonsense") == 1000


def test_a_read_that_is_one_event_and_nothing_else_is_told_from_others() -> None:
    def alone(*reads: bytes) -> list[bool]:
        decoder = SseDecoder()
        found: list[bool] = []
        for read in reads:
            decoder.feed(read)
            found.append(decoder.is_alone)
        return found

    assert alone(b"data: a\n\n", b"event: x\r\ndata: a\r\n\r\n") == [True, True]
    assert alone(b"data: a\n\n", b"data: a\n\ndata: b\n\n", b": x\n\n") == [
        True,
        False,
        False,
    ]
    assert alone(b"data: a\n\ndata", b": b\n\n", b"data: c\n\n") == [False, False, True]
    assert alone(b"\xef\xbb\xbfdata: a\n\n", b"id: 1\ndata: b\n\n") == [False, True]
    assert alone(b"data: a\n\n", b"id: 1\ndata: a\r\r", b"\ndata: b\n\n") == [
        True,
        False,
        False,
    ]
