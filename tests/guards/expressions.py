"""Expressions and texts by chance, and what is to be found in them, found plainly."""

from __future__ import annotations

from collections.abc import Sequence

import regex
from hypothesis import reject
from hypothesis import strategies as st

__all__ = ["EXPRESSIONS", "LONG_TEXTS", "TEXTS", "assume_valid", "exactly"]

_ATOMS = (
    *("a", "b", "-", " ", "ab", "ba", "é", "ß", "[ab]", "[^a]", "[a-]", "\\n"),
    *(r"\w", r"\s", r"\d", ".", r"\X", r"\R", r"\p{L}", "[[:alpha:]]"),
)
_ASSERTIONS = (r"\b", r"\B", "$", "^", r"\Z", r"\A", r"\m", r"\M")
_REPEATS = ("*", "+", "?", "{2}", "{1,2}", "{2,}", "{,2}")
_FLAGS = ("", "", "(?i)", "(?m)", "(?s)", "(?V1)", "(?a)")


def _grown(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def around(start: str, end: str = ")") -> st.SearchStrategy[str]:
        return smaller.map(lambda inner: f"{start}{inner}{end}")

    repeat = st.builds(
        "(?:{}){}{}".format,
        smaller,
        st.sampled_from(_REPEATS),
        st.sampled_from(("", "", "?", "+")),
    )
    return st.one_of(
        st.builds("{}{}".format, smaller, smaller),
        st.builds("(?:{}|{})".format, smaller, smaller),
        st.builds("(?>{}|{})".format, smaller, smaller),
        repeat,
        st.builds("{}(?i){}".format, smaller, smaller),
        *map(around, ("(?=", "(?!", "(?<=", "(?<!", "(?>", "(")),
        smaller.map(lambda inner: rf"(?P<again>{inner})(?P=again)"),
        smaller.map(lambda inner: rf"(?P<may>{inner})?(?(may)b|a)"),
    )


_PARTS = st.recursive(
    st.sampled_from(_ATOMS) | st.sampled_from(_ATOMS) | st.sampled_from(_ASSERTIONS),
    _grown,
    max_leaves=8,
)


def assume_valid(*expressions: str) -> None:
    """Let only those through that are taken; a look-behind may be too odd."""
    for expression in expressions:
        if "V1" in expression and "(?i)" in expression:
            reject()  # it folds fully
        try:
            regex.compile(expression)
        except regex.error:
            reject()


_SETS = ("[ab]", "[aA]", "[a-c]", "[^a]", "[b-]", r"[\w.]", r"\w", "[ab1]")
_RUNS = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(("", "", r"\b", "^", "(?<!a)", r"(?<=[ -])", r"(?<![\w-])")),
    st.sampled_from(_SETS),
    st.sampled_from(("", *_SETS)),
    st.sampled_from(("+", "*", "{2}", "{1,2}", "{,2}", "{2,}", "+?", "*+")),
    st.sampled_from(("-", "b", "1", " ", r"\-", "-+", "-?", "-{2}", "[1-]", "s")),
    st.sampled_from(("", "", "a", r"\w+", r"\b", "(?!b)", "|b", r"(?<=a-)")),
)
"""Of which much is known before the engine is asked."""

EXPRESSIONS = st.builds(
    "{}{}".format, st.sampled_from(_FLAGS), st.one_of(_PARTS, _PARTS, _RUNS)
)
_ALPHABET = "aaabbA- \né1ßs\u0301"
TEXTS = st.text(alphabet=_ALPHABET, max_size=9)
LONG_TEXTS = st.text(alphabet=_ALPHABET, min_size=20, max_size=60)


def exactly(expressions: Sequence[str], text: str, replacements: Sequence[str]) -> str:
    """Replace what matches: leftmost, then longest, then first given.

    It asks each expression at each place, and nothing else.
    """
    engines = [regex.compile(each) for each in expressions]
    out: list[str] = []
    at = taken = 0
    while at <= len(text):
        best: tuple[int, str] | None = None
        for engine, replacement in zip(engines, replacements, strict=True):
            found = engine.match(text, at)
            if found and (best is None or found.end() > best[0]):
                best = (found.end(), replacement)
        if best is None:
            at += 1
            continue
        end, replacement = best
        out += (text[taken:at], replacement)
        taken, at = end, max(end, at + (end == at))
    return "".join((*out, text[taken:]))
