from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable

from rxagent.errors import ConfigurationError, DocumentError, RetrievalError
from rxagent.operators import just
from rxagent.retrieval import (
    AllOf,
    AnyOf,
    Compared,
    Document,
    Field,
    Filter,
    Listed,
    MemoryDocuments,
    Metadata,
    Null,
    Query,
    Retriever,
    matches,
    within,
)
from rxagent.retrieval.merging import merged
from rxagent.runtime import run
from tests.retrieval.chance import FILTERS, METADATA

YEAR, TAGS, LANG = Field("year"), Field("tags"), Field("lang")
NEW = YEAR > 2020
ANY: dict[str, Any] = {"text": "de", "nothing": None, "list": [NEW, "de"]}
NINETEEN: Metadata = {"year": 2019, "tags": ("a", "b"), "lang": "de", "ok": True}


def test_python_operators_make_filters() -> None:
    assert (YEAR >= 2020) == Compared(field="year", is_=">=", value=2020)
    assert TAGS.not_in(["a"]) == Listed(field="tags", values=("a",), negated=True)
    assert LANG.is_not_null() == Null(field="lang", negated=True)
    both = (YEAR == 1) & (YEAR != 2) & (YEAR < 3)
    assert isinstance(both, AllOf)
    assert len(both.parts) == 3
    either = (YEAR <= 1) | both | (YEAR > 2)
    assert isinstance(either, AnyOf)
    assert len(either.parts) == 3


def test_depth_is_bounded_and_length_is_not() -> None:
    deep: Filter = YEAR == 1
    for level in range(32):
        deep = (deep | NEW) if level % 2 else (deep & NEW)
    for _ in range(1_001):
        deep = ~deep
    assert matches(AllOf.joined([deep] * 1_000), NINETEEN)
    with pytest.raises(ConfigurationError, match="over 32 parts within each other"):
        AnyOf.joined([deep, NEW])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: YEAR == 2019 & LANG,
        lambda: LANG == "de" | YEAR,
        lambda: NEW & ANY["text"],
        lambda: ANY["nothing"] | NEW,
        lambda: LANG & NEW,
        lambda: AnyOf(parts=ANY["list"]),
        lambda: AllOf.joined(ANY["text"]),
    ],
)
def test_what_is_no_comparison_is_no_part(wrong: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError, match=r"each in parentheses: \("):
        wrong()


def test_a_comparison_is_one_of_six() -> None:
    """In SQL it stands as it is given."""
    with pytest.raises(ConfigurationError, match="is_ must be one of '=='"):
        Compared(field="year", is_=ANY["text"], value=1)


@pytest.mark.parametrize(
    "wanted",
    [
        YEAR == 2019,
        YEAR == 2019.0,
        YEAR != "2019",
        YEAR < 2020,
        YEAR > 2018.5,
        LANG < "dea",
        LANG >= "de",
        TAGS == "a",
        TAGS != "c",
        TAGS.is_in(["x", "b"]),
        TAGS.not_in(["x"]),
        TAGS.not_in([]),
        Field("ok") == True,  # noqa: E712 - it makes a filter
        Field("ok") != 1,
        Field("gone").is_null(),
        YEAR.is_not_null(),
    ],
)
def test_a_filter_that_matches(wanted: Filter) -> None:
    assert matches(wanted, NINETEEN)
    assert not matches(~wanted, NINETEEN)


@pytest.mark.parametrize(
    "wanted",
    [
        YEAR < "a",
        YEAR >= "a",
        TAGS < "z",
        TAGS >= "",
        Field("ok") >= 0,
    ],
)
def test_what_has_no_order_is_neither_less_nor_not_less(wanted: Filter) -> None:
    assert not matches(wanted, NINETEEN)
    assert not matches(~wanted, NINETEEN)


@pytest.mark.parametrize("metadata", [{}, {"year": None}])
@pytest.mark.parametrize(
    "wanted",
    [YEAR == 1, YEAR != 1, YEAR < 1, YEAR > 1, YEAR.is_in([1]), YEAR.not_in([1])],
)
def test_a_missing_field_never_matches_a_comparison(
    wanted: Filter, metadata: Metadata
) -> None:
    """Acceptance 84; a negation does not match it either."""
    assert not matches(wanted, metadata)
    assert not matches(~wanted, metadata)
    assert matches(YEAR.is_null(), metadata)


@settings(max_examples=200)
@given(FILTERS, METADATA)
def test_the_opposite_of_the_opposite_is_the_filter_and_both_never_match(
    wanted: Filter, metadata: Metadata
) -> None:
    assert ~~wanted == wanted
    assert not (matches(wanted, metadata) and matches(~wanted, metadata))


@given(st.lists(FILTERS, max_size=4), METADATA)
def test_parts_match_as_each_of_them_does(
    parts: list[Filter], metadata: Metadata
) -> None:
    """Those of one field are made a list, which matches the same."""
    each = [matches(part, metadata) for part in parts]
    assert matches(AnyOf(parts=tuple(parts)), metadata) == any(each)
    assert matches(AllOf(parts=tuple(parts)), metadata) == all(each)


def test_values_that_are_asked_for_one_by_one_are_a_list() -> None:
    one, two = (Field("a") == 1) | (LANG == "de"), (Field("a") == 2) | (YEAR < 3)
    assert merged(one | two) == AnyOf.joined(
        [Field("a").is_in([1, 2]), LANG.is_in(["de"]), YEAR < 3]
    )
    assert merged(~one & ~two) == AllOf.joined(
        [Field("a").not_in([1, 2]), LANG.not_in(["de"]), YEAR >= 3]
    )
    assert merged((YEAR == 1) | YEAR.is_in([2, True])) == YEAR.is_in([1, 2, True])
    assert merged((YEAR == 1) & (YEAR == 2)) == (YEAR == 1) & (YEAR == 2)


class Counted(str):
    """A text that counts how often a set looks at it."""

    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()


@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_long_list_is_read_once_in_a_search(one_by_one: bool) -> None:
    index = MemoryDocuments()
    known = [Document(id=str(n), text="x", metadata={"a": str(n)}) for n in range(100)]
    run(index.add(known))
    values = [Counted(number) for number in range(1_000)]
    wanted = (
        AnyOf.joined(Field("a") == each for each in values)
        if one_by_one
        else Field("a").is_in(values)
    )
    Counted.looks = 0
    assert len(run(index.ids(wanted))) == 100
    assert Counted.looks <= len(values)


@settings(max_examples=200)
@given(FILTERS, FILTERS, METADATA)
def test_a_narrower_query_finds_nothing_that_the_wider_one_does_not(
    wide: Filter, narrow: Filter, metadata: Metadata
) -> None:
    """S001-47, V-24: a filter is joined and never replaced."""
    both = Query(text="", filter=wide).within(narrow).filter
    assert both is not None
    assert matches(both, metadata) == (
        matches(wide, metadata) and matches(narrow, metadata)
    )


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: bool(YEAR == 1),
        lambda: (YEAR == 1) and (YEAR == 2),
        lambda: 1 < YEAR < 3,
    ],
)
def test_what_would_drop_a_part_is_refused(mistake: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError, match="neither true nor false"):
        mistake()


def test_what_no_document_can_have_is_no_filter() -> None:
    with pytest.raises(ConfigurationError, match="'year' cannot be compared with"):
        Compared(field="year", is_="<", value=float("nan"))
    with pytest.raises(ConfigurationError, match="a NoneType"):
        YEAR.is_in([None])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="named by a text with NUL"):
        Field("\0").is_null()


@pytest.mark.parametrize(
    ("is_", "mistake"),
    [
        ("<", lambda: Field("ok") < True),
        ("<=", lambda: Field("ok") <= True),
        (">", lambda: Field("ok") > False),
        (">=", lambda: Field("ok") >= True),
    ],
)
def test_a_truth_has_no_order(is_: str, mistake: Callable[[], object]) -> None:
    """``<= True`` would not find what is equal, and nobody would be told."""
    problem = f"the field 'ok': a truth has no order, so nothing is {is_} "
    with pytest.raises(ConfigurationError, match=problem + r"\w+; use == or !="):
        mistake()


def test_values_and_parts_may_be_read_once() -> None:
    """One that is empty would let everything through."""
    assert TAGS.not_in(iter("ab")).values == ("a", "b")
    values: Any = (each for each in "ab")
    assert Listed(field="tags", values=values).values == ("a", "b")
    parts: Any = (each for each in (NEW, YEAR > 1))
    assert AllOf(parts=parts) == NEW & (YEAR > 1)
    parts = iter([NEW, YEAR > 1])
    assert AnyOf(parts=parts) == NEW | (YEAR > 1)


def test_one_text_is_no_list_of_values() -> None:
    with pytest.raises(ConfigurationError, match=r"'tags' is compared with one text"):
        TAGS.is_in("ann")
    with pytest.raises(ConfigurationError, match="write is_in"):
        TAGS.not_in("ann")


@pytest.mark.parametrize("none", [None, "tenant == 'ann'", {"tenant": "ann"}])
def test_what_is_no_filter_never_stands_for_a_mandatory_one(none: Any) -> None:
    """S001-47: it would let everything through."""
    with pytest.raises(ConfigurationError, match="mandatory takes a filter"):
        within(MemoryDocuments().search, none)


def deaf(*documents: Document) -> Retriever:
    """One that knows no filter."""

    def web_search(_: Query) -> Observable[tuple[Document, ...]]:
        return just(documents)

    return web_search


def test_what_a_mandatory_filter_excludes_is_an_error_of_whoever_found_it() -> None:
    """S001-47: a retriever of somebody's own may not know filters."""
    of_bob = Document(id="bob-1", text="secret", metadata={"tenant": "bob"})
    plain = Document(id="page", text="secret")
    mine = within(deaf(of_bob), Field("tenant") == "ann")

    found_by = "'bob-1' came from the retriever deaf.web_search, and the filter"
    with pytest.raises(DocumentError, match=re.escape(found_by)) as at:
        run(mine(Query(text="secret")))
    assert at.value.document == "bob-1"
    assert "secret" not in str(at.value)
    with pytest.raises(DocumentError, match="give each document the metadata"):
        run(within(deaf(plain), Field("tenant") == "ann")(Query(text="secret")))

    bobs = within(deaf(of_bob), Field("tenant") == "bob")
    assert run(bobs(Query(text="secret"))) == (of_bob,)
    with pytest.raises(DocumentError):
        run(bobs(Query(text="secret", filter=YEAR == 2020)))
    strange: Any = lambda _: just(None)  # noqa: E731
    with pytest.raises(RetrievalError, match="lambda emitted a NoneType, and it has"):
        run(within(strange, NEW)(Query(text="secret")))


def test_a_query_is_words_and_a_filter() -> None:
    with pytest.raises(ConfigurationError, match=r"filter takes a filter.*not a str"):
        Query(text="a", filter="tenant == 'ann'")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="looked for takes a text, not None"):
        Query(text=None)  # type: ignore[arg-type]
