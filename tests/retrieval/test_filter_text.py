from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import FilterError
from rxagent.retrieval import (
    AllOf,
    AnyOf,
    Compared,
    Field,
    Filter,
    Listed,
    Metadata,
    Null,
    Scalar,
    matches,
    parse_filter,
)
from tests.retrieval.chance import FILTERS, METADATA, NAMES

YEAR, LANG = Field("year"), Field("lang")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("year == 2020", YEAR == 2020),
        ("year!=2020.5", YEAR != 2020.5),
        ("year<-1 AND year>+1", (YEAR < -1) & (YEAR > 1)),
        ("year <= 1e3", YEAR <= 1000.0),
        ("lang >= 'de'", LANG >= "de"),
        ('lang == "it\'s"', LANG == "it's"),
        (r"lang == 'it\'s \\ \"'", LANG == "it's \\ \""),
        ("ok == true or ok == FALSE", (Field("ok") == True) | (Field("ok") == False)),  # noqa: E712
        ("lang IN ['de', \"en\"]", LANG.is_in(["de", "en"])),
        ("lang in []", LANG.is_in([])),
        ("lang NIN ['de']", LANG.not_in(["de"])),
        ("lang NOT IN [1, true]", LANG.not_in([1, True])),
        ("lang IS NULL", LANG.is_null()),
        ("lang is not null", LANG.is_not_null()),
        ("a.b.c == 1", Field("a.b.c") == 1),
        ("'a b' == 1", Field("a b") == 1),
        ('"and" == 1', Field("and") == 1),
        ("whereabouts == 1", Field("whereabouts") == 1),
        ("Not == 1", Field("Not") == 1),
        ("größe == 1", Field("größe") == 1),
        ("year == 1 && lang == 'x' || ok IS NULL",
         ((YEAR == 1) & (LANG == "x")) | Field("ok").is_null()),
        ("(((year == 1)))", YEAR == 1),
    ],
)  # fmt: skip
def test_a_text_is_read(text: str, wanted: Filter) -> None:
    assert parse_filter(text) == wanted


def test_not_binds_tighter_than_and_and_that_tighter_than_or() -> None:
    """Acceptance 85."""
    a, b, c = Field("a") == 1, Field("b") == 2, Field("c") == 3
    assert parse_filter("NOT a == 1 AND b == 2") == ~a & b
    assert parse_filter("a == 1 OR b == 2 AND c == 3") == a | (b & c)
    assert parse_filter("(a == 1 OR b == 2) AND c == 3") == (a | b) & c
    assert parse_filter("NOT (a == 1 OR b == 2) OR c == 3") == (~a & ~b) | c
    assert parse_filter("NOT NOT a == 1") == a


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "a field, NOT or '(' is expected, and here it ends"),
        ("   ", 3, "a field, NOT or '(' is expected"),
        ("year", 4, "a comparison, IN, NIN or IS is expected, and here it ends"),
        ("year = 1", 5, "'=' is no comparison; use '=='"),
        ("year == ", 8, "a value is expected"),
        ("year == de", 8, "a value is expected, not 'de'"),
        ("year == NULL", 8, "use IS NULL"),
        ("year == [1]", 8, "a value is expected, not '['"),
        ("year == 1 lang == 2", 10, "AND, OR or the end is expected, not 'lang'"),
        ("(year == 1", 10, "')' is expected"),
        ("year == 1)", 9, "AND, OR or the end"),
        ("year IN 1", 8, "'[' is expected, not '1'"),
        ("year IN [1,]", 11, "a value is expected, not ']'"),
        ("year IN [1 2]", 11, "']' is expected"),
        ("year NOT 1", 9, "IN is expected"),
        ("year IS 1", 8, "NULL is expected"),
        ("year == 'a", 8, "what ' begins does not end"),
        (r"year == 'a\n'", 8, "or has a \\ before another letter"),
        ("year == 1 # x", 10, "'#' begins nothing that is known"),
        ("year == 12ab", 8, "'1' begins nothing that is known"),
        ("ok <= TRUE", 6, "a truth has no order, so nothing is <= True; use == or !="),
        ("a == 1 AND ok > :truth", 16, "a truth has no order, so nothing is > False"),
        ("year == 1e999", 8, "the number inf can be in no document"),
        ("year == 9223372036854775808", 8, "a number of over 64 bits"),
        ("year == " + "9" * 5000, 8, "the number inf"),
        ("year == 'a\0'", 8, "a text with NUL can be in no document"),
        ("'\0' == 1", 0, "a text with NUL"),
        ("year == :", 8, "is followed by the name"),
        ("year == :who", 8, ":who is not bound; pass who=... as well"),
        ("year == :list", 8, ":list is bound to a list"),
        ("year IN :one", 8, ":one is bound to a str, where a list"),
        ("year == :nothing", 8, ":nothing is bound to a NoneType, where a value"),
        ("year IN :nothing", 8, ":nothing is bound to a NoneType, where a list"),
        ("year IN :raw", 8, ":raw is bound to a bytes, where a list"),
        ("year IN :map", 8, ":map is bound to a dict, where a list"),
        ("year IN :none", 8, "a NoneType can be in no document"),
        ("year == 1", 9, "there is no :list in all of it"),
        ("AND year == 1", 0, "a field, NOT or '(' is expected, not 'AND'"),
        ("year == 1 ; DROP TABLE x", 10, "';' begins nothing that is known"),
    ],
)  # fmt: skip
def test_what_is_no_filter_says_where_and_why(
    text: str, position: int, problem: str
) -> None:
    bound: dict[str, Any] = {"list": [1], "one": "x", "none": [None]}
    bound |= {"nothing": None, "raw": b"x", "map": {"a": 1}, "truth": False}
    wanted = {k: v for k, v in bound.items() if f":{k}" in text or text == "year == 1"}
    with pytest.raises(FilterError) as caught:
        parse_filter(text, **wanted)
    assert problem in caught.value.problem
    assert caught.value.position == position
    assert f"at position {position}: " in str(caught.value)


INJECTIONS = (
    "x' OR tenant == 'b",
    "x') OR NOT (tenant == 'a",
    'x" OR 1==1 --',
    "\\' OR tenant != '",
    ":who",
    "x'] OR tenant IN ['b",
    "'; DROP TABLE documents; --",
    "NULL",
)


@pytest.mark.parametrize("text", INJECTIONS)
def test_what_is_bound_is_a_value_whatever_stands_in_it(text: str) -> None:
    """S001-47."""
    both = parse_filter("tenant == :who AND tag IN :tags", who=text, tags=[text])
    assert both == (Field("tenant") == text) & Field("tag").is_in([text])


def test_what_is_bound_may_be_read_once() -> None:
    """An iterator that is empty would let everything through a NIN."""
    both = parse_filter("a NIN :who AND b NOT IN :who", who=iter(["ann", "bob"]))
    assert both == Field("a").not_in(["ann", "bob"]) & Field("b").not_in(["ann", "bob"])
    with pytest.raises(FilterError, match="a NoneType can be in no document"):
        parse_filter("a NIN :who", who=(each for each in [None]))  # type: ignore[misc]


def written(wanted: Filter) -> str:
    """A text of the grammar, as another one might have written it."""
    match wanted:
        case AllOf() | AnyOf():
            sign = " AND " if isinstance(wanted, AllOf) else " or "
            return sign.join(f"({written(each)})" for each in wanted.parts)
        case Compared():
            return f"{quoted(wanted.field)} {wanted.is_} {value(wanted.value)}"
        case Listed():
            values = ", ".join(map(value, wanted.values))
            sign = "NIN" if wanted.negated else "in"
            return f"{quoted(wanted.field)} {sign} [{values}]"
        case Null():
            sign = "is not null" if wanted.negated else "IS NULL"
            return f"{quoted(wanted.field)} {sign}"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def value(scalar: Scalar) -> str:
    return quoted(scalar) if isinstance(scalar, str) else json.dumps(scalar)


@settings(max_examples=200)
@given(FILTERS)
def test_every_filter_can_be_written_and_read_back(wanted: Filter) -> None:
    assert parse_filter(written(wanted)) == wanted


@settings(max_examples=200)
@given(FILTERS, METADATA)
def test_a_negated_text_is_the_opposite(wanted: Filter, metadata: Metadata) -> None:
    negated = parse_filter(f"NOT ({written(wanted)})")
    assert matches(negated, metadata) == matches(~wanted, metadata)


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(
            [*"()[],:'\"\\=<>!&| x1", "AND", "NOT", "IN ", "IS ", "NULL", "== 1", ":b"]
        ),
        max_size=12,
    ).map("".join)
    | st.text(max_size=12),
    NAMES,
)
def test_any_text_is_a_filter_or_a_filter_error(text: str, name: str) -> None:
    for each in (text, f"{name} {text}"):
        try:
            parse_filter(each)
            position = 0
        except FilterError as error:
            position = error.position
        assert 0 <= position <= len(each)


@pytest.mark.parametrize("deep", ["(" * 10_000, "NOT " * 10_000, "NOT (" * 10_000])
def test_depth_is_bounded(deep: str) -> None:
    with pytest.raises(FilterError, match="over 24 parts within each other"):
        parse_filter(deep + "a == 1")


def test_length_is_not_bounded() -> None:
    text = " AND ".join(["NOT (a == 'x' OR b IN [1, 2])"] * 10_000)
    wanted = parse_filter(text)
    assert isinstance(wanted, AllOf)
    assert len(wanted.parts) == 20_000
