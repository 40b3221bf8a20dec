from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import get_args

from reactivex import Observable

from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.operators import just
from rxagent.retrieval import (
    AllOf,
    AnyOf,
    Compared,
    Comparison,
    Document,
    DocumentIndex,
    Field,
    Filter,
    MetadataValue,
    Query,
    Scalar,
    matches,
    parse_filter,
    within,
)
from rxagent.retrieval.filters import MAX_DEPTH
from rxagent.retrieval.scalars import order_problem
from rxagent.testing._store_case import one, same

__all__ = ["assert_index_contract", "assert_vector_contract", "uneven_vectors"]

_WORD = "harbour"
_FIELDS = ("a", "b.c", 'quo"te', "ключ", "x y", "'; --")
_SCALARS: tuple[Scalar, ...] = (
    *(0, 1, -1, 2**53 + 1, 2**63 - 1, 1.0, 0.5, -0.5, 1e300, True, False),
    *("", "a", "b", "B", "ab", "1", "é", "天", "\ue000", "😀", "' OR 1=1 --", 'x"y'),
)
_VALUES: tuple[MetadataValue, ...] = (
    *_SCALARS,
    *(None, (), (1,), ("a", "b"), (True, 0.5, "天"), ("' OR 1=1 --",)),
)
_INJECTIONS = (
    "bob",
    "' OR tenant == 'ann",
    "x') OR (tenant == 'ann",
    '" OR "1" == "1',
    "'; DROP TABLE documents; --",
    "%' OR true --",
)


def assert_index_contract(index: DocumentIndex) -> None:
    """Check what `DocumentIndex` promises, on an index of yours.

    It blocks, and takes some seconds.

    Args:
        index: Open, with nothing in it; nothing is left in it.

    Raises:
        AssertionError: If a promise is not kept; says which.
    """
    for check in _CHECKS:
        try:
            check(index)
        finally:
            one(index.delete(_EVERYTHING))


def uneven_vectors(texts: Sequence[str]) -> Observable[tuple[tuple[float, ...], ...]]:
    """Make vectors that do not go together: as many numbers as a text has letters.

    Args:
        texts: To embed.

    Returns:
        Emits them once.
    """
    return just(tuple((1.0,) * len(text) for text in texts))


def assert_vector_contract(index: DocumentIndex) -> None:
    """Check what `DocumentIndex` promises of vectors that cannot be compared.

    Args:
        index: Open, with nothing in it, and with `uneven_vectors` as its embedder;
            something is left in it.

    Raises:
        AssertionError: If a promise is not kept; says which.
    """
    short, long = Document(id="x", text="four"), Document(id="x", text="twelve by far")
    other, blank = Document(id="y", text="twelve by far"), Document(id="z", text=" ")
    _refused(index.add([other, short]), "two lengths at once")
    same("what is there", one(index.ids(_EVERYTHING)), ())
    one(index.add([short, blank]))
    _refused(index.add([other]), "another length")
    _refused(index.add([long]), "another length in the place of the only one")
    _refused(index.add([long, other]), "another length of all")
    _refused(index.search(Query(text=long.text)), "a search by another length")
    same("what is there", one(index.ids(_EVERYTHING)), ("x", "z"))
    found = one(index.search(Query(text=short.text)))
    same("what is found", [each.text for each in found], [short.text])


def _refused(source: Observable[object], what: str) -> None:
    with suppress(RetrievalError):
        one(source)
        raise AssertionError(f"it took {what}")


_EVERYTHING: Filter = Field("a").is_null() | Field("a").is_not_null()


def _what_is_empty_has_nothing(index: DocumentIndex) -> None:
    same("what was found", _found(index, _WORD), [])
    same("what was deleted", one(index.delete(["x"])), 0)
    same("what was deleted", one(index.delete([])), 0)
    same("what was deleted", one(index.delete(_EVERYTHING)), 0)
    same("the ids", one(index.ids(_EVERYTHING)), ())
    same("what was added", one(index.add([])), 0)


def _an_observable_is_cold(index: DocumentIndex) -> None:
    given = [_document("x")]
    add, delete, ids = index.add(given), index.delete(["x"]), index.ids(_EVERYTHING)
    given.clear()
    same("what is there before a subscription", one(ids), ())
    same("two subscriptions", (one(add), one(add)), (1, 1))
    same("the ids", one(ids), ("x",))
    same("two subscriptions", (one(delete), one(delete)), (1, 0))


def _what_is_kept_comes_back(index: DocumentIndex) -> None:
    metadata = {str(n): value for n, value in enumerate(_VALUES)}
    kept = Document(id="x", text=f"{_WORD}\r\n\t天气 😀 'a' \"b\"", metadata=metadata)
    one(index.add([kept, Document(id="y", text="")]))
    [found] = one(index.search(Query(text=_WORD)))
    # What is nothing may be left out.
    known = {k: v for k, v in found.metadata.items() if v is not None}
    wanted = {k: v for k, v in kept.metadata.items() if v is not None}
    same("the document", (found.id, found.text, known), ("x", kept.text, wanted))
    types = {k: _types(v) for k, v in known.items()}
    same("the truths of it", types, {k: _types(v) for k, v in wanted.items()})
    assert found.score is not None, "a document was found without a score"


def _types(value: MetadataValue) -> object:
    values = value if isinstance(value, tuple) else (value,)
    return [isinstance(each, bool) for each in values]


def _one_id_is_one_document(index: DocumentIndex) -> None:
    first = [_document("x", a=1), _document("y"), _document("x", a=2)]
    same("the ids that were added", one(index.add(first)), 2)
    same("the last of an id", one(index.ids(Field("a") == 2)), ("x",))
    same("the first of an id", one(index.ids(Field("a") == 1)), ())
    one(index.add([Document(id="x", text="meadow", metadata={"b": 1})]))
    same("the old metadata", one(index.ids(Field("a").is_not_null())), ())
    for each in _search(index, "meadow"):
        same("the text", each.text, {"x": "meadow"}.get(each.id, _WORD))


def _ids_are_any_text(index: DocumentIndex) -> None:
    ids = [" ", "'", '"', "a", "B", "é", "\ue000", "😀", "a/b#1", "x" * 300, "%_"]
    one(index.add([_document(each) for each in ids]))
    same("the ids, by code points", one(index.ids(_EVERYTHING)), tuple(sorted(ids)))
    same("what was deleted", one(index.delete([*ids[::2], "other"])), 6)
    same("what is left", {*_found(index, _WORD, top_k=99)}, {*ids[1::2]})
    with suppress(ConfigurationError):
        index.delete("abc")
        raise AssertionError("it took a text for a list of ids")


def _the_best_come_first_and_no_more_than_asked(index: DocumentIndex) -> None:
    texts = ("meadow", f"{_WORD} {_WORD}", f"{_WORD} cheese wine bread butter", _WORD)
    documents = [Document(id=str(n), text=text) for n, text in enumerate(texts)]
    one(index.add(documents))
    for top_k in range(5):
        found = _search(index, _WORD, top_k=top_k)
        assert len(found) <= top_k, f"{len(found)} documents where {top_k} were asked"
        scores = [each.score or 0.0 for each in found]
        same("the order of scores", scores, sorted(scores, reverse=True))
    assert "0" not in _found(index, _WORD, top_k=3), "what does not fit came first"
    for blank in ("", " \n"):
        same("what a blank query finds", _found(index, blank), [])


def _filters_say_the_same_everywhere(index: DocumentIndex) -> None:
    documents = [
        _document(f"{place}-{number}", **{field: value})
        for place, field in enumerate(_FIELDS)
        for number, value in enumerate(_VALUES if not place else ("a", 1, None))
    ]
    one(index.add(documents))
    for wanted in _filters():
        right = [each.id for each in documents if matches(wanted, each.metadata)]
        same(f"the ids of {wanted}", one(index.ids(wanted)), tuple(sorted(right)))
    for wanted in (*(Field(each) == "a" for each in _FIELDS), Field("a") != "a"):
        right = [each.id for each in documents if matches(wanted, each.metadata)]
        query = Query(text=_WORD, filter=wanted, top_k=len(documents))
        found = sorted(each.id for each in one(index.search(query)))
        same(f"what {wanted} finds", found, sorted(right))


def _filters() -> Iterator[Filter]:
    comparisons: Iterable[Comparison] = get_args(Comparison)
    for is_, value in product(comparisons, _SCALARS):
        if order_problem(is_, value) is None:
            yield Compared(field="a", is_=is_, value=value)
    for field in _FIELDS:
        yield Field(field).is_null()
        yield Field(field).is_not_null()
        yield Field(field) == "a"
        yield Field(field) != "a"
        yield Field(field) >= 1
    for values in ((), (1,), ("a", 1, True), (0.5, "天"), _SCALARS):
        yield Field("a").is_in(values)
        yield Field("a").not_in(values)
    some = [Field("a") == 1, Field("a") >= "a", ~(Field("a") < 1)]
    yield (some[0] | some[1]) & some[2]
    yield ~((some[0] & some[1]) | some[2])
    yield from (AllOf(parts=()), AnyOf(parts=()))
    deep: Filter = Field("a") == 1
    for level in range(MAX_DEPTH):
        other = Field("a").not_in([level, "a", True])
        deep = other & deep & other if level % 2 else other | deep | other
    yield deep
    many = [Field("a") != number for number in range(400)]
    yield AllOf.joined(many)
    yield AnyOf.joined(many)


def _delete_by_filter(index: DocumentIndex) -> None:
    documents = [_document(str(n), a=n) for n in range(6)]
    one(index.add(documents))
    same("what was deleted", one(index.delete(Field("a") >= 3)), 3)
    same("what is left", one(index.ids(_EVERYTHING)), ("0", "1", "2"))
    same("what is found", {*_found(index, _WORD, top_k=9)}, {"0", "1", "2"})


def _nobody_sees_what_belongs_to_another(index: DocumentIndex) -> None:
    documents = [
        *(_document(f"ann-{n}", tenant="ann", tag=n) for n in range(3)),
        *(_document(f"bob-{n}", tenant="bob", tag=n) for n in range(3)),
        *(_document(f"list-{n}", tenant=("ann", "cid"), tag=n) for n in range(2)),
        _document("nobody"),
    ]
    one(index.add(documents))
    for text in _INJECTIONS:
        mine = within(index.search, Field("tenant") == text)
        for narrower in (
            None,
            Field("tenant") == "ann",
            (Field("tenant") == "ann") | (Field("tenant") != "x"),
            ~(Field("tenant") == text),
            parse_filter("tenant == :t OR tag IN :tags", t=text, tags=[0, text]),
        ):
            asked = Query(text=_WORD, filter=narrower, top_k=99)
            found = {each.id for each in one(mine(asked))}
            allowed = {
                each.id for each in documents if each.metadata.get("tenant") == text
            }
            assert found <= allowed, f"{text!r} saw {sorted(found - allowed)}"
    same("what bob sees", {*_seen_by(index, "bob")}, {f"bob-{n}" for n in range(3)})


def _seen_by(index: DocumentIndex, tenant: str) -> list[str]:
    mine = within(index.search, Field("tenant") == tenant)
    return [each.id for each in one(mine(Query(text=_WORD, top_k=99)))]


def _document(name: str, **metadata: MetadataValue) -> Document:
    return Document(id=name, text=_WORD, metadata=metadata)


def _search(index: DocumentIndex, text: str, *, top_k: int = 4) -> Sequence[Document]:
    return one(index.search(Query(text=text, top_k=top_k)))


def _found(index: DocumentIndex, text: str, *, top_k: int = 4) -> list[str]:
    return [each.id for each in _search(index, text, top_k=top_k)]


_CHECKS: tuple[Callable[[DocumentIndex], None], ...] = (
    _what_is_empty_has_nothing,
    _an_observable_is_cold,
    _what_is_kept_comes_back,
    _one_id_is_one_document,
    _ids_are_any_text,
    _the_best_come_first_and_no_more_than_asked,
    _filters_say_the_same_everywhere,
    _delete_by_filter,
    _nobody_sees_what_belongs_to_another,
)
