"""Filters as text: the grammar, and the parser that reads it.

::

    any     = all {("OR" | "||") all}
    all     = single {("AND" | "&&") single}
    single  = "NOT" single | "(" any ")" | test
    test    = field ("==" | "!=" | "<" | "<=" | ">" | ">=") value
            | field ("IN" | "NIN" | "NOT" "IN") list
            | field "IS" ["NOT"] "NULL"
    field   = name with dots, or a quoted text
    value   = quoted text, number, "TRUE", "FALSE", or a ":name" that is bound
    list    = "[" [value {"," value}] "]", or a ":name" that is bound to a list

Words are written in upper or in lower case.  In a quoted text a backslash keeps the
quote, or the backslash, behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias, get_args

from rxagent.choices import check_text
from rxagent.errors import FilterError
from rxagent.retrieval.filters import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Compared,
    Comparison,
    Filter,
    Listed,
    Null,
)
from rxagent.retrieval.scalars import Scalar, order_problem, problem_of

__all__ = ["Bound", "parse_filter"]

Bound: TypeAlias = Scalar | Iterable[Scalar]
"""What a ``:name`` stands for."""

# Parentheses and negations within each other; what is read can be joined to others.
_MAX_DEPTH = MAX_DEPTH - 8

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<text>"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')
    | (?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<name>[^\W\d][\w.]*)
    | (?P<bound>:[^\W\d]\w*)
    | (?P<sign>==|!=|<=|>=|<|>|&&|\|\||[()\[\],])
    """,
    re.VERBOSE,
)
_WORDS = ("AND", "OR", "NOT", "IN", "NIN", "IS", "NULL", "TRUE", "FALSE")
_KEYWORDS = {
    **{form: word for word in _WORDS for form in (word, word.lower())},
    "&&": "AND",
    "||": "OR",
}
_COMPARISONS: dict[str, Comparison] = {each: each for each in get_args(Comparison)}


def parse_filter(text: str, /, **bound: Bound) -> Filter:
    """Read a filter.

        parse_filter("year >= 2020 AND NOT lang == 'de'")
        parse_filter("tenant == :who AND tags IN :tags", who=user, tags=tags)

    ``NOT`` binds tighter than ``AND``, and that tighter than ``OR``.  What a user wrote
    belongs into ``bound``: it is a value there, whatever stands in it.

    Args:
        text: See the grammar of this module.
        bound: What each ``:name`` of the text stands for.

    Returns:
        The filter.

    Raises:
        FilterError: If the text is no filter; says where and why.
        ConfigurationError: If it is no text.
    """
    check_text("parse_filter", text)
    return _Parser(text, bound).whole()


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of the text; ``kind`` is a keyword or a sign itself, or what it is."""

    kind: str
    text: str
    at: int


class _Parser:
    """One function a rule of the grammar; each takes the tokens that it describes."""

    def __init__(self, text: str, bound: Mapping[str, Bound]) -> None:
        self._tokens = _tokens(text)
        self._token = next(self._tokens)
        self._bound = dict(bound)
        self._used: set[str] = set()

    def whole(self) -> Filter:
        found = self._any(_MAX_DEPTH)
        if self._token.kind != "end":
            raise self._expected("AND, OR or the end")
        if unused := sorted(self._bound.keys() - self._used):
            raise FilterError(self._token.at, f"there is no :{unused[0]} in all of it")
        return found

    def _any(self, depth: int) -> Filter:
        parts = [self._all(depth)]
        while self._took("OR"):
            parts.append(self._all(depth))
        return AnyOf.joined(parts)

    def _all(self, depth: int) -> Filter:
        parts = [self._single(depth)]
        while self._took("AND"):
            parts.append(self._single(depth))
        return AllOf.joined(parts)

    def _single(self, depth: int) -> Filter:
        if not depth:
            problem = f"there are over {_MAX_DEPTH} parts within each other"
            raise FilterError(self._token.at, problem)
        if self._took("NOT"):
            return ~self._single(depth - 1)
        if self._took("("):
            inner = self._any(depth - 1)
            self._take(")")
            return inner
        return self._test()

    def _test(self) -> Filter:
        if self._token.kind not in ("name", "text"):
            raise self._expected("a field, NOT or '('")
        token = self._advance()
        field = _unquoted(token)
        _check(field, token)
        if (sign := self._token.kind) in _COMPARISONS:
            return self._compared(field, _COMPARISONS[sign])
        if self._took("IS"):
            negated = self._took("NOT")
            self._take("NULL")
            return Null(field=field, negated=negated)
        if self._took("NIN"):
            return Listed(field=field, values=self._list(), negated=True)
        negated = self._took("NOT")
        if not self._took("IN"):
            raise self._expected("IN" if negated else "a comparison, IN, NIN or IS")
        return Listed(field=field, values=self._list(), negated=negated)

    def _compared(self, field: str, is_: Comparison) -> Filter:
        self._advance()
        token = self._token
        value = self._value()
        if problem := order_problem(is_, value):
            raise FilterError(token.at, problem)
        return Compared(field=field, is_=is_, value=value)

    def _value(self) -> Scalar:
        token = self._advance()
        value = self._read(token)
        _check(value, token)
        return value

    def _read(self, token: _Token) -> Scalar:
        match token.kind:
            case "text":
                return _unquoted(token)
            case "number":
                return _number(token.text)
            case "TRUE" | "FALSE":
                return token.kind == "TRUE"
            case "bound":
                value = self._value_of(token)
                if isinstance(value, str | int | float | bool):
                    return value
                raise _bound_to(value, "a value", token)
            case "NULL":
                raise FilterError(token.at, "nothing is equal to null; use IS NULL")
            case _:
                raise _expected("a value", token)

    def _list(self) -> tuple[Scalar, ...]:
        token = self._token
        if self._took("bound"):
            values = given = self._value_of(token)
            if isinstance(values, str | bytes | Mapping) or not isinstance(
                values, Iterable
            ):
                raise _bound_to(given, "a list", token)
            # Kept, as an iterator has nothing for the next one who asks.
            self._bound[token.text[1:]] = listed = tuple(values)
            for each in listed:
                _check(each, token)
            return listed
        self._take("[")
        found: list[Scalar] = []
        if not self._took("]"):
            found.append(self._value())
            while self._took(","):
                found.append(self._value())
            self._take("]")
        return tuple(found)

    def _value_of(self, token: _Token) -> Bound:
        name = token.text[1:]
        if name not in self._bound:
            problem = f"{token.text} is not bound; pass {name}=... as well"
            raise FilterError(token.at, problem)
        self._used.add(name)
        return self._bound[name]

    def _advance(self) -> _Token:
        token = self._token
        if token.kind != "end":
            self._token = next(self._tokens)
        return token

    def _took(self, kind: str) -> bool:
        is_there = self._token.kind == kind
        if is_there:
            self._advance()
        return is_there

    def _take(self, kind: str) -> None:
        if not self._took(kind):
            raise self._expected(repr(kind) if kind in "()[]" else kind)

    def _expected(self, what: str) -> FilterError:
        return _expected(what, self._token)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise FilterError(at, _strange(text[at]))
        kind, piece = str(found.lastgroup), found.group()
        if kind in ("name", "sign"):
            kind = _KEYWORDS.get(piece, piece if kind == "sign" else kind)
        if kind != "space":
            yield _Token(kind, piece, at)
        at = found.end()
    yield _Token("end", "", at)


def _check(value: object, token: _Token) -> None:
    if problem := problem_of(value):
        raise FilterError(token.at, f"{problem} can be in no document")


def _strange(letter: str) -> str:
    match letter:
        case "'" | '"':
            return (
                f"what {letter} begins does not end, or has a \\ before another letter"
            )
        case "=":
            return "'=' is no comparison; use '=='"
        case ":":
            return "':' is followed by the name of a value that is bound"
        case _:
            return f"{letter!a} begins nothing that is known"


def _expected(what: str, token: _Token) -> FilterError:
    found = f"not {token.text!a}" if token.text else "and here it ends"
    return FilterError(token.at, f"{what} is expected, {found}")


def _bound_to(value: object, what: str, token: _Token) -> FilterError:
    kind = type(value).__name__
    problem = f"{token.text} is bound to a {kind}, where {what} is due"
    return FilterError(token.at, problem)


def _unquoted(token: _Token) -> str:
    if token.kind == "name":
        return token.text
    return re.sub(r"\\(.)", r"\1", token.text[1:-1])


def _number(text: str) -> int | float:
    if not text.lstrip("+-").isdigit():
        return float(text)
    return int(text) if len(text) <= 40 else inf  # either way it is refused
