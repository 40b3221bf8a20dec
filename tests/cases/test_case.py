from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Delay, Fail

HTTP = {"status": 200, "headers": {"content-type": "text/event-stream"}}


def case(*chunks: Any, **given: Any) -> Case:
    return Case(
        id="c",
        kind="wire",
        protocol="openai-chat",
        given={"http": HTTP, "chunks": list(chunks), **given},
        expect={},
    )


def test_chunks_are_reads_of_bytes() -> None:
    chunks = ["é", {"b64": "7w=="}, {"repeat": 2, "of": {"repeat": 2, "of": "ab"}}]

    [answer] = case(*chunks, {"delay_ms": 20}, {"fail": "reset"}).answers("as cut")

    assert answer.reads == ("é".encode(), b"\xef", b"abababab", Delay(0.02), Fail())
    assert (answer.status, answer.headers) == (200, HTTP["headers"])


def test_bytes_may_be_cut_in_every_way_unless_there_is_more_than_bytes() -> None:
    plain = case("ab", {"b64": "7w=="})

    assert plain.cuttings() == ["as cut", "whole", "byte by byte"]
    assert plain.answers("whole")[0].reads == (b"ab\xef",)
    assert plain.answers("byte by byte")[0].reads == (b"a", b"b", b"\xef")
    for odd in ({"repeat": 2, "of": "a"}, {"delay_ms": 1}, {"fail": "reset"}):
        assert case("a", odd).cuttings() == ["as cut"]


def test_attempts_are_answers_to_one_request_after_the_other() -> None:
    attempts = [{"http": HTTP, "chunks": ["a"]}, {"http": HTTP, "chunks": ["b"]}]
    found = case(attempts=attempts)

    assert found.cuttings() == ["as cut"]
    assert [answer.reads for answer in found.answers("as cut")] == [(b"a",), (b"b",)]


def test_what_is_no_chunk_is_no_bytes() -> None:
    with pytest.raises(ValueError, match="not a chunk"):
        case({"surprise": 1}).answers("as cut")
