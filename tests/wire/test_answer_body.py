from __future__ import annotations

import pytest

from rxagent.errors import EmptyStreamError, MalformedResponseError
from rxagent.events import ChatEvent, TextDelta
from rxagent.testing import every_cut
from rxagent.wire.answer_body import AnswerFaults, Opening, and_raise

FAULTS = AnswerFaults(provider="p", content_type="text/event-stream")


def opened(pieces: list[bytes], *, faults: AnswerFaults = FAULTS) -> bytes | None:
    """What is known to be an event stream, as far as one was fed."""
    opening = Opening(faults)
    return next(filter(None, map(opening.feed, pieces)), None)


@pytest.mark.parametrize("start", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_event_stream_is_handed_on_with_all_that_came_before(start: bytes) -> None:
    data = start + b"data: 1"
    for pieces in every_cut(data):
        begun = opened(list(pieces))
        assert begun is not None
        assert data.startswith(begun)
        assert begun.strip(b"\xef\xbb\xbf \n")


@pytest.mark.parametrize("text", ['{"a": 1}', '["ä"]', '\ufeff\n{"a"'])
def test_json_is_collected_to_its_end(text: str) -> None:
    for pieces in every_cut(text.encode()):
        opening = Opening(FAULTS)
        assert [opening.feed(piece) for piece in pieces] == [None] * len(pieces)
        assert opening.text() == text.removeprefix("\ufeff")


@pytest.mark.parametrize("body", [b"", b" \r\n", b"\xef\xbb\xbf"])
def test_a_body_of_nothing_is_empty(body: bytes) -> None:
    opening = Opening(FAULTS)
    assert opening.feed(body) is None
    with pytest.raises(EmptyStreamError):
        opening.text()


def test_a_page_is_no_answer() -> None:
    page = AnswerFaults(provider="p", content_type="text/html")
    with pytest.raises(MalformedResponseError, match="HTML"):
        opened([b"\n<html>"])
    with pytest.raises(MalformedResponseError, match="with text of type 'text/html'"):
        opened([b"Welcome"], faults=page)


def test_what_was_good_comes_before_the_error() -> None:
    good: list[ChatEvent] = [TextDelta(text="a")]
    seen: list[ChatEvent] = []

    with pytest.raises(EmptyStreamError):
        for event in and_raise(good, FAULTS.empty()):
            seen.append(event)
    assert seen == good

    with pytest.raises(EmptyStreamError):
        and_raise([], FAULTS.empty())
