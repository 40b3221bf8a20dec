"""Placeholders for values that must not go out, and the way back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rxagent.errors import AdvisorError, GuardError
from rxagent.guards._engine import Found
from rxagent.guards._scan import Rule
from rxagent.wire.json_text import dump_json, load_json

__all__ = ["Placeholders"]

_LITERAL = "LITERAL"  # a text of the conversation that looks like a placeholder
_NOT_IN_A_KIND = re.compile(r"[^A-Z0-9]+")
_JSON_VALUE = re.compile(
    r'"(?P<inside>(?:[^"\\]|\\.)*)(?P<end>"?)|-?[0-9][0-9.eE+-]*', re.DOTALL
)


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


class Placeholders:
    """The values of one request, each with the placeholder that stands for it.

    They are numbered in the order in which they stand in the conversation.  So the same
    history gets the same numbers in the next round and the next turn, with no memory
    of them anywhere, and what a provider has cached stays as it was.

    A value that was found once is masked wherever it stands from then on, also where no
    pattern would find it.  A text that looks like a placeholder is masked as well, so
    that it comes back as it was, and not as the value of another.

    Args:
        rules: What to find.
    """

    __slots__ = (
        "_by_value",
        "_counts",
        "_kinds",
        "_looks",
        "_rules",
        "_starts",
        "_values",
    )

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [(each, _kind(each.pattern.name)) for each in rules]
        kinds = {_LITERAL, *(kind for _, kind in self._rules)}
        self._looks = re.compile(rf"\[(?:{'|'.join(sorted(kinds))})_[0-9]+\]")
        self._by_value: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._values: dict[str, str] = {}  # by placeholder
        self._starts = set[str]()
        self._counts = Counter[str]()

    def masked(self, text: str) -> str:
        """Return ``text`` with a placeholder for each value."""
        pieces, done = list[str](), 0
        for start, end, kind in _merged(self._found(text)):
            pieces += (text[done:start], self._placeholder(text[start:end], kind))
            done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def masked_json(self, text: str) -> str:
        """Return JSON text, whole or not, with placeholders in its strings.

        A number that is a value, such as that of a card, becomes a string.
        """
        return _JSON_VALUE.sub(self._masked_value, text)

    def restored(self, text: str, *, in_json: bool = False) -> str:
        """Return ``text`` with the values back; unknown placeholders stay."""

        def value(match: re.Match[str]) -> str:
            found = self._values.get(match[0])
            if found is None:
                return match[0]
            return dump_json(found).decode()[1:-1] if in_json else found

        return self._looks.sub(value, text)

    def may_go_on(self, text: str) -> bool:
        """Whether ``text`` is the beginning of a placeholder, and not the whole."""
        return text in self._starts

    def _masked_value(self, match: re.Match[str]) -> str:
        inside = match["inside"]
        if inside is None:
            masked = self.masked(match[0])
            return match[0] if masked == match[0] else dump_json(masked).decode()
        try:
            string = load_json(f'"{inside}"')
        except ValueError:
            return f'"{self.masked(inside)}{match["end"]}'
        assert isinstance(string, str)
        masked = self.masked(string)
        if masked == string:
            return match[0]
        return dump_json(masked).decode()[:-1] + match["end"]

    def _placeholder(self, value: str, kind: str) -> str:
        known = self._by_value.get(value)
        if known is not None:
            return known
        self._counts[kind] += 1
        made = f"[{kind}_{self._counts[kind]}]"
        self._by_value[value] = made
        self._kinds[value] = kind
        self._values[made] = value
        self._starts.update(made[:length] for length in range(1, len(made)))
        return made

    def _found(self, text: str) -> Iterator[_Span]:
        kinds = self._kinds.copy()
        for match in self._looks.finditer(text):
            yield _Span(*match.span(), _LITERAL)
        for rule, kind in self._rules:
            for start, end in _matches(rule, text):
                kinds.setdefault(text[start:end], kind)
                yield _Span(start, end, kind)
        for value, kind in kinds.items():
            at = text.find(value)
            while at >= 0:
                yield _Span(at, at + len(value), kind)
                at = text.find(value, at + len(value))


def _merged(found: Iterable[_Span]) -> list[_Span]:
    """Spans that overlap as one: nothing that a pattern has found is left over."""
    merged: list[_Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
        elif span.end > last.end:
            merged[-1] = last._replace(end=span.end)
    return merged


def _kind(name: str) -> str:
    return _NOT_IN_A_KIND.sub("_", name.upper()).strip("_") or "VALUE"


def _matches(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):  # a search from the end finds the empty text there for ever
        found = _first(rule, text, at)
        if found is None:
            return
        start, end = found.start(), found.end()
        if start < end:
            yield start, end
        at = max(end, start + 1)


def _first(rule: Rule, text: str, at: int) -> Found | None:
    try:
        return rule.first(text, at)
    except GuardError:
        raise
    except Exception as error:  # noqa: BLE001 - a check may tell the value
        raise AdvisorError(
            "pii",
            f"cannot use {rule.name!r}: its check raised {type(error).__name__}, and "
            "what that says is not shown, since it may hold a value",
        ) from None
