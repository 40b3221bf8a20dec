"""What patterns match of a text that goes on, exactly as if it were there at once.

The rule: leftmost, then longest, then first given; and each text is matched once.  One
pattern's match at a place is what the engine finds there.  After an empty match the
next character passes.

A place is decided when no text that may still come changes what the engine finds there.
The first place that is not decided, and all behind it, is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from rxagent.errors import GuardError
from rxagent.guards._engine import Found
from rxagent.guards._first_look import FirstLook
from rxagent.guards._scan import Rule, Scan
from rxagent.guards._text_guard import Span
from rxagent.guards._watch import MATCHES, Watch

__all__ = ["Matching", "OnHold", "Replace"]

OnHold: TypeAlias = Literal["release", "redact", "stop"]
Replace: TypeAlias = Callable[[Rule, Found], str]


class Matching:
    """A text on its way, with other text in place of what matches.

    Args:
        rules: The patterns.
        replace: Returns what stands for a match.
        max_hold_chars: The longest text to hold undecided.
        on_hold: What to do with a longer one.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        replace: Replace,
        max_hold_chars: int,
        on_hold: OnHold,
    ) -> None:
        self._rules = rules
        self._replace = replace
        self._max = self._limit = max_hold_chars
        self._on_hold = on_hold
        self._watches = [Watch(rule) for rule in rules]
        self._look = _all_of([rule.first_look for rule in rules])
        self._look_back = max(rule.compiled.look_back for rule in rules)
        self._text: str = ""  # what is held, and before it what decides on it
        self._offset = 0  # where that starts in the whole text
        self._at = 0  # where in it the held text starts
        self._next = 0  # where the next match may start; one more after an empty one
        self._is_swallowing = False  # the held text was replaced before it is decided

    @property
    def held(self) -> int:
        """Characters of the input that are not decided."""
        return len(self._text) - self._at

    def feed(self, text: str, /) -> Sequence[str]:
        """Take a piece; return the text that is decided."""
        at = self._at
        whole = self._text + text
        first = end = len(whole)
        if end - at < self._max and at == self._next:
            if self._look is not None and self._look(whole, at) is None:
                self._text, self._at, self._next = whole, end, end
                self._drop()
                return (text,) if at == end - len(text) else (whole[at:],)
            for watch in self._watches:
                start = watch.first(text, whole, at, self._offset)
                if start == MATCHES:
                    break
                if start < first:
                    first = start
            else:
                self._text, self._at, self._next = whole, first, first
                self._drop()
                if first == end and at == end - len(text):
                    return (text,)
                return (whole[at:first],) if first > at else ()
        return _joined(self.feed_placed(text))

    def flush(self) -> Sequence[str]:
        """Return what is held, now that the text is complete."""
        return _joined(self.flush_placed())

    def feed_placed(self, text: str, /) -> list[Span]:
        """Take a piece; return what is decided, and what it stands for."""
        spans: list[Span] = []
        while text:
            room = self._limit - self.held
            self._text += text[:room]
            text = text[room:]
            # What was replaced before it was decided is looked at again at steps that
            # grow, so that an endless one takes no endless time.
            if not self._is_swallowing or self.held == self._limit:
                spans += self._decided()
            while self.held >= self._limit:
                spans += self._too_long()
            self._drop()
        return spans

    def flush_placed(self) -> list[Span]:
        """Return what is held, and what it stands for."""
        spans = list(self._rest())
        self._at = self._next = len(self._text)
        return spans

    def _decided(self) -> Iterator[Span]:
        scans = [Scan(rule, self._text) for rule in self._rules]
        while True:
            for scan in scans:
                scan.look(self._next)
            start = min(scan.start for scan in scans)
            first = [scan for scan in scans if scan.start == start]
            found = [(scan.rule, each) for scan in first if (each := scan.found)]
            yield from self._up_to(start)
            if len(found) < len(first):
                return
            yield from self._matched(*max(found, key=_length))

    def _rest(self) -> Iterator[Span]:
        text = self._text
        found = [(rule, rule.first(text, self._next)) for rule in self._rules]
        while there := [(rule, each) for rule, each in found if each]:
            start = min(each.start() for _, each in there)
            first = [(rule, each) for rule, each in there if each.start() == start]
            yield from self._up_to(start)
            yield from self._matched(*max(first, key=_length))
            if self._next > len(text):
                break
            at = self._next
            found = [
                (rule, each if each.start() >= at else rule.first(text, at))
                for rule, each in there
            ]
        yield from self._up_to(len(text))

    def _up_to(self, place: int) -> Iterator[Span]:
        """What does not match, up to a place."""
        if place > self._at:
            width = place - self._at
            if self._is_swallowing:
                self._is_swallowing, self._limit = False, self._max
                yield Span("", width, is_kept=False)
            else:
                yield Span(self._text[self._at : place], width, is_kept=True)
            self._at = self._next = place

    def _matched(self, rule: Rule, found: Found) -> Iterator[Span]:
        end = found.end()
        text = "" if self._is_swallowing else self._replace(rule, found)
        self._is_swallowing, self._limit = False, self._max
        yield Span(text, end - self._at, is_kept=False)
        self._at, self._next = end, end + (end == found.start())

    def _too_long(self) -> Iterator[Span]:
        """Do with the held text what is to be done if it is too long."""
        if self._is_swallowing:
            self._limit *= 2
        elif self._on_hold == "stop":
            raise GuardError(
                self._rules[0].guard,
                f"holds {self.held} characters that may become a match; raise "
                "max_hold_chars, or write a pattern that has an end",
            )
        elif self._on_hold == "release":
            yield from self._up_to(self._at + 1)
            yield from self._decided()
        else:
            self._is_swallowing, self._limit = True, 2 * self._max
            yield Span(self._replaced_early(), 0, is_kept=False)

    def _replaced_early(self) -> str:
        for rule in self._rules:
            found = rule.begins(self._text, self._at)
            if found is not None:
                return self._replace(rule, found)
        raise AssertionError("text is held, and no pattern holds it")

    def _drop(self) -> None:
        """Forget the text that decides on nothing any more."""
        gone = self._at - self._look_back
        if gone > 0:
            self._text = self._text[gone:]
            self._offset += gone
            self._at -= gone
            self._next -= gone


def _all_of(looks: Sequence[FirstLook | None]) -> FirstLook | None:
    """All looks as one; ``None`` if a pattern has none."""
    there = [look for look in looks if look is not None]
    if len(there) < len(looks):
        return None
    if len(there) == 1:
        return there[0]
    return lambda text, at: next((m for look in there if (m := look(text, at))), None)


def _joined(spans: Iterable[Span]) -> Sequence[str]:
    text = "".join(span.text for span in spans)
    return (text,) if text else ()


def _length(match: tuple[Rule, Found]) -> int:
    return match[1].end() - match[1].start()
