from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.testing import assert_cut_anywhere, every_cut
from rxagent.wire import NdjsonDecoder

LINES: dict[str, tuple[bytes, list[str]]] = {
    "one line": (b'{"a":1}\n', ['{"a":1}']),
    "two lines": (b"1\n2\n", ["1", "2"]),
    "the last line needs no end": (b"1\n2", ["1", "2"]),
    "carriage returns before the end": (b"1\r\n2\r\n", ["1", "2"]),
    "blank lines": (b"\n1\n\n \t\r\n2\n\n", ["1", "2"]),
    "blank space around": (b"  1 \n\t2\r\n", ["1", "2"]),
    "a carriage return alone ends nothing": (b"[1,\r2]\n", ["[1,\r2]"]),
    "a mark at the start": (b"\xef\xbb\xbf1\n2\n", ["1", "2"]),
    "no mark later": (b"1\n\xef\xbb\xbf2\n", ["1", "\ufeff2"]),
    "other line ends are text": (
        '"a\u2028b\u0085c"\n'.encode(),
        ['"a\u2028b\u0085c"'],
    ),
    "characters of four bytes": ('"北🚀"\n'.encode(), ['"北🚀"']),
    "bytes that are no UTF-8": (b'"a\xffb"\n', ['"a\ufffdb"']),
    "nothing": (b"", []),
    "nothing but line ends": (b"\n\r\n\n", []),
}


def read(data: list[bytes]) -> list[str]:
    decoder = NdjsonDecoder()
    lines = [line for piece in data for line in decoder.feed(piece)]
    return lines + decoder.flush()


@pytest.mark.parametrize(("data", "lines"), LINES.values(), ids=LINES)
def test_bytes_become_lines_wherever_they_are_cut(
    data: bytes, lines: list[str]
) -> None:
    for pieces in every_cut(data):
        assert read(list(pieces)) == lines


@given(
    values=st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
        max_size=6,
    ),
    end=st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_values_come_back_whatever_ends_their_lines(
    values: list[object], end: bytes, cuts: list[int]
) -> None:
    data = end.join(json.dumps(value, ensure_ascii=False).encode() for value in values)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:stop] for start, stop in pairwise(edges)]

    assert [json.loads(line) for line in read(pieces)] == values


@given(
    data=st.binary(max_size=60) | st.text("\n\r{\ufeff 1", max_size=60).map(str.encode)
)
def test_any_bytes_are_cut_the_same_anywhere(data: bytes) -> None:
    assert_cut_anywhere(NdjsonDecoder, data)


def test_a_long_line_is_not_looked_at_again_for_each_piece() -> None:
    """Law 9: a line in a million reads would else take hours."""
    decoder = NdjsonDecoder()
    for _ in range(300_000):
        assert decoder.feed(b"x") == []

    assert decoder.flush() == ["x" * 300_000]


def test_a_read_that_is_one_line_and_nothing_else_is_told_from_others() -> None:
    decoder = NdjsonDecoder()
    found: list[bool] = []
    for read in (b"1\n", b"2\n", b"3\n4\n", b"5\n6", b"7\n", b"8\r\n", b"9"):
        decoder.feed(read)
        found.append(decoder.is_alone)

    # The first may begin with a byte order mark.
    assert found == [False, True, False, False, False, True, False]
