"""Placeholders for values that must not go out, and the way back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from rxagent.errors import GuardError
from rxagent.guards._engine import Found
from rxagent.guards._scan import Rule
from rxagent.guards._text_guard import Span
from rxagent.wire.json_text import dump_json, load_json

__all__ = ["Placeholders"]

_LITERAL = "LITERAL"  # a text of the conversation that looks like a placeholder
_NOT_IN_A_KIND = re.compile(r"[^A-Z0-9]+")
_JSON_PIECE = re.compile(
    r'"(?P<inside>(?:[^"\\]|\\.)*)(?P<end>"?)|(?P<between>[^"]+)', re.DOTALL
)
_JSON_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*")


class _Found(NamedTuple):
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
        """Return the text of JSON, broken or not, with placeholders in its strings.

        A number that is a value, such as that of a card, becomes a string.
        """
        try:
            load_json(text)
        except ValueError:
            between: Callable[[str], str] = self.masked
        else:
            between = partial(_JSON_NUMBER.sub, self._masked_number)

        def piece(match: re.Match[str]) -> str:
            if match["between"] is not None:
                return between(match["between"])
            return self._masked_string(match)

        return _JSON_PIECE.sub(piece, text)

    def restored(self, text: str, *, in_json: bool = False) -> str:
        """Return ``text`` with the values back; unknown placeholders stay."""
        return "".join(span.text for span in self.spans(text, in_json=in_json))

    def spans(self, text: str, *, in_json: bool) -> Iterator[Span]:
        """The same in pieces: what stays, and what stands for a placeholder."""
        done = 0
        for match in self._looks.finditer(text):
            value = self._values.get(match[0])
            if value is None:
                continue
            if done < match.start():
                kept = text[done : match.start()]
                yield Span(kept, len(kept), is_kept=True)
            quoted = dump_json(value).decode()[1:-1] if in_json else value
            yield Span(quoted, len(match[0]), is_kept=False)
            done = match.end()
        if done < len(text):
            yield Span(text[done:], len(text) - done, is_kept=True)

    def may_go_on(self, text: str) -> bool:
        """Whether ``text`` is the beginning of a placeholder, and not the whole."""
        return text in self._starts

    def _masked_number(self, match: re.Match[str]) -> str:
        masked = self.masked(match[0])
        return match[0] if masked == match[0] else dump_json(masked).decode()

    def _masked_string(self, match: re.Match[str]) -> str:
        inside, end = match["inside"], match["end"]
        try:
            string = load_json(f'"{inside}"')
        except ValueError:
            return f'"{self.masked(inside)}{end}'
        assert isinstance(string, str)
        masked = self.masked(string)
        return match[0] if masked == string else dump_json(masked).decode()[:-1] + end

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

    def _found(self, text: str) -> Iterator[_Found]:
        kinds = self._kinds.copy()
        for match in self._looks.finditer(text):
            yield _Found(*match.span(), _LITERAL)
        for rule, kind in self._rules:
            for start, end in _matches(rule, text):
                kinds.setdefault(text[start:end], kind)
                yield _Found(start, end, kind)
        for value, kind in kinds.items():
            at = text.find(value)
            while at >= 0:
                yield _Found(at, at + len(value), kind)
                at = text.find(value, at + len(value))


def _merged(found: Iterable[_Found]) -> list[_Found]:
    """What overlaps as one: nothing that a pattern has found is left over."""
    merged: list[_Found] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or each.start >= last.end:
            merged.append(each)
        elif each.end > last.end:
            merged[-1] = last._replace(end=each.end)
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
        raise GuardError(
            "pii",
            f"cannot use {rule.name!r}: its check raised {type(error).__name__}, and "
            "what that says is not shown, since it may hold a value",
        ) from None
