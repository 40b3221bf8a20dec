"""Metadata and filters at random, few enough names and values that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from rxagent.retrieval import Compared, Filter, Listed, Metadata, Null, Scalar

__all__ = ["FILTERS", "METADATA", "NAMES"]

NAMES = st.sampled_from(["a", "b", "year", 'a"b', "x.y", "ключ", "'; --"])
_SCALARS: st.SearchStrategy[Scalar] = st.sampled_from(
    [
        *(0, 1, 2, -1, 2**63 - 1, -(2**63), 2**53 + 1),
        *(0.0, 1.0, 1.5, -0.5, 2.0**53, 1e300),
        *(True, False),
        *("", "a", "b", "A", "ab", "é", "z", "1", "天", "😀", "\ue000", "' OR 1=1 --"),
    ]
)
METADATA: st.SearchStrategy[Metadata] = st.dictionaries(
    NAMES, st.none() | _SCALARS | st.lists(_SCALARS, max_size=3), max_size=4
)

_EQUAL = st.builds(
    Compared, field=NAMES, is_=st.sampled_from(["==", "!="]), value=_SCALARS
)
_ORDERED = st.builds(
    Compared,
    field=NAMES,
    is_=st.sampled_from(["<", "<=", ">", ">="]),
    value=_SCALARS.filter(lambda value: not isinstance(value, bool)),
)
_LISTED = st.builds(
    Listed,
    field=NAMES,
    values=st.lists(_SCALARS, max_size=3).map(tuple),
    negated=st.booleans(),
)
_NULL = st.builds(Null, field=NAMES, negated=st.booleans())


def _joined(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    return (
        st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
        | inner.map(lambda each: ~each)
    )


FILTERS: st.SearchStrategy[Filter] = st.recursive(
    _EQUAL | _ORDERED | _LISTED | _NULL, _joined, max_leaves=6
)
