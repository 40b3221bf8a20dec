from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.guards._engine import Found
from rxagent.guards._matching import Matching
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._pattern import Pattern
from rxagent.guards._rules import rules_of
from rxagent.guards._scan import Rule
from rxagent.guards._text_guard import Span, TextGuard

_OnHold = Literal["release", "stop"]


def stop_on(
    *patterns: str | Pattern,
    max_hold_chars: int = 4096,
    on_hold: _OnHold = "stop",
    timeout_s: float = 1.0,
) -> TextGuard:
    """Deliver what comes before the first match, and nothing from there on.

    ::

        --a--b--c--(F,|)                  a = "yes E", b = "ND o", c = "f it"
        [ guard(stop_on("END")) ]
        --x--------(F,|)                  x = "yes "

    No part of a match is ever delivered, wherever it is cut; what may still become one
    is held.  The model's answer is read to its end, so the response, its usage and what
    a memory stores are whole; to pay for less, set ``ChatOptions.stop``.

    Args:
        patterns: A string is looked for as it is.  A `Pattern` is an expression, as
            `redact` takes it, and needs the extra ``guards``.
        max_hold_chars: How much text a `Pattern` may hold, in characters.
        on_hold: What to do with a longer text that may still become a match:
            ``"stop"`` is a `GuardError`, ``"release"`` lets it out.
        timeout_s: How long one search for a `Pattern` may take, in seconds; more is a
            `GuardError`.

    Returns:
        A text guard.

    Raises:
        ConfigurationError: At the call, if there is no pattern, or one that cannot be
            used.
    """
    if not patterns or "" in patterns:
        raise ConfigurationError(f"stop_on takes texts to stop on, got {patterns!r}")
    check_choice("on_hold", on_hold, _OnHold)
    literals = [each for each in patterns if isinstance(each, str)]
    make: TextGuard
    if len(literals) == len(patterns):
        make = partial(_UntilLiteral, literals)
    else:
        rules = rules_of(
            "stop_on",
            map(_as_pattern, patterns),
            max_hold_chars=max_hold_chars,
            timeout_s=timeout_s,
        )
        make = partial(
            _UntilMatch, rules, max_hold_chars=max_hold_chars, on_hold=on_hold
        )
    names = (each if isinstance(each, str) else each.name for each in patterns)
    return NamedGuard(name="stop_on", make=make, settings=", ".join(map(repr, names)))


def _as_pattern(each: str | Pattern) -> Pattern:
    if isinstance(each, str):
        return Pattern(expression=re.escape(each), name=each)
    return each


class _UntilMatch:
    """Lets out what precedes a match, as far as it is decided."""

    __slots__ = ("_matching", "is_done")

    def __init__(
        self, rules: Sequence[Rule], *, max_hold_chars: int, on_hold: _OnHold
    ) -> None:
        self._matching = Matching(
            rules, replace=_nothing, max_hold_chars=max_hold_chars, on_hold=on_hold
        )
        self.is_done = False

    @property
    def held(self) -> int:
        return 0 if self.is_done else self._matching.held

    def feed(self, text: str, /) -> Sequence[str]:
        return () if self.is_done else self._before(self._matching.spans(text))

    def flush(self) -> Sequence[str]:
        return () if self.is_done else self._before(self._matching.flush_placed())

    def _before(self, spans: Iterable[Span]) -> Sequence[str]:
        kept: list[str] = []
        for span in spans:
            if not span.is_kept:
                self.is_done = True
                break
            kept.append(span.text)
        text = "".join(kept)
        return (text,) if text else ()


def _nothing(rule: Rule, found: Found) -> str:
    del rule, found  # what matches is not delivered, and nothing in its place
    return ""


class _UntilLiteral:
    """Holds the text from the first place where one of the literals may begin."""

    __slots__ = ("_literals", "_may_begin", "_rest", "is_done")

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = literals
        firsts = "".join(each[0] for each in literals)
        self._may_begin = re.compile(f"[{re.escape(firsts)}]").search
        self._rest = ""
        self.is_done = False

    @property
    def held(self) -> int:
        return len(self._rest)

    def feed(self, text: str, /) -> Sequence[str]:
        if self.is_done:
            return ()
        if not self._rest and self._may_begin(text) is None:
            return (text,) if text else ()
        text = self._rest + text
        found = self._first(text)
        cut = min(found, self._open(text))
        self.is_done = cut == found < len(text)
        self._rest = "" if self.is_done else text[cut:]
        return (text[:cut],) if cut else ()

    def flush(self) -> Sequence[str]:
        found = self._first(self._rest)
        rest, self._rest = self._rest[:found], ""
        return (rest,) if rest else ()

    def _first(self, text: str) -> int:
        """Where the first literal begins; the end of the text, if there is none."""
        found = (text.find(each) for each in self._literals)
        return min((place for place in found if place >= 0), default=len(text))

    def _open(self, text: str) -> int:
        """Where the first end of the text begins that may still become a literal."""
        return min(_open(text, each) for each in self._literals)


def _open(text: str, literal: str) -> int:
    start = max(0, len(text) - len(literal) + 1)
    while (place := text.find(literal[0], start)) >= 0:
        if literal.startswith(text[place:]):
            return place
        start = place + 1
    return len(text)
