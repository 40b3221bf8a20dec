"""What patterns match of a text that goes on, exactly as if it were there at once.

The rule: leftmost, then longest, then first given; and each text is matched once.  One
pattern's match at a place is what the engine finds there.  After an empty match the
next character passes.

A place is decided when no text that may still come changes what the engine finds there.
The first place that is not decided, and all behind it, is held.  It is looked at with
each piece; a long one only when it has grown by a sixteenth, so that the time is linear
in its length, however small the pieces are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from rxagent.errors import GuardError
from rxagent.guards._engine import Found
from rxagent.guards._first_look import together
from rxagent.guards._scan import Rule, Scan
from rxagent.guards._text_guard import Span
from rxagent.guards._watch import MATCHES, Watch

__all__ = ["Matching", "OnHold", "Replace"]

OnHold: TypeAlias = Literal["release", "redact", "stop"]
Replace: TypeAlias = Callable[[Rule, Found], str]

_LONG = 256  # characters held; an address is shorter, and most keys are
_GROWTH = 16


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
        self._short = min(_LONG, max_hold_chars)
        self._again = 0  # so many characters are held when they are looked at again
        self._on_hold = on_hold
        self._watches = [Watch(rule) for rule in rules]
        look = together([rule.first_look for rule in rules])
        self._look = look.search if look is not None else None
        self._look_back = max(rule.compiled.look_back for rule in rules)
        self._text: str = ""  # what is held, and before it what decides on it
        self._more: list[str] = []  # held behind it, until there is a reason to look
        self._waiting = 0  # characters of that
        self._at = 0  # where in it the held text starts
        self._next = 0  # where the next match may start; one more after an empty one
        self._is_swallowing = False  # the held text was replaced before it is decided

    @property
    def held(self) -> int:
        """Characters of the input that are not decided."""
        return len(self._text) - self._at + self._waiting

    def feed(self, text: str, /) -> Sequence[str]:
        """Take a piece; return the text that is decided."""
        at, before, look = self._at, self._text, self._look
        if at != self._next:  # it was matched emptily
            return _joined(self.feed_placed(text))
        size = len(text)
        is_idle = at == len(before) and size < self._max
        if is_idle and look is not None and look(text) is None:
            # The usual case, written out: nothing was held, and nothing is.
            if size < self._look_back:
                self._keep(before + text, at + size)
            else:
                self._text, self._at, self._next = text, size, size
            return (text,)
        held = len(before) - at + self._waiting
        if held + size >= self._short:
            if held >= _LONG and self._runs_on(text, held):
                self._wait(text)
                return ()
            if held + size >= self._max or not all(w.is_run for w in self._watches):
                return _joined(self.feed_placed(text))
            self._join()
            self._again = 0
        whole = self._text + text
        first = self._first(text, whole)
        if first == MATCHES:
            return _joined(self.feed_placed(text))
        self._keep(whole, first)
        return (whole[at:first],) if first > at else ()

    def _runs_on(self, piece: str, held: int) -> bool:
        """Whether a piece is only more of what each pattern starts with."""
        if held + len(piece) >= self._max:
            return False
        return all(watch.goes_on(piece, held) for watch in self._watches)

    def _first(self, piece: str, text: str) -> int:
        """Where a match may start first; `MATCHES` if there is one."""
        watches, at = self._watches, self._at
        if len(watches) == 1:
            return watches[0].first(piece, text, at)
        starts: list[int] = []
        for watch in watches:
            start = watch.first(piece, text, at)
            if start == MATCHES:
                return MATCHES
            starts.append(start)
        first = min(starts)
        for watch, start in zip(watches, starts, strict=True):
            watch.lead = start - first
        return first

    def flush(self) -> Sequence[str]:
        """Return what is held, now that the text is complete."""
        return _joined(self.flush_placed())

    def feed_placed(self, text: str, /) -> list[Span]:
        """Take a piece; return what is decided, and what it stands for."""
        return list(self.spans(text))

    def spans(self, text: str) -> Iterator[Span]:
        """Take a piece; yield what is decided, as soon as it is."""
        for watch in self._watches:
            watch.forget()
        while text:
            room = self._limit - self.held
            self._wait(text[:room])
            text = text[room:]
            if self.held < self._again:
                continue
            self._join()
            scans = [Scan(rule, self._text) for rule in self._rules]
            yield from self._decided(scans)
            while self.held >= self._limit:
                yield from self._too_long(scans)
            if self._is_swallowing:
                self._again = self._limit
            ahead = self._next - self._at  # one, after an empty match
            self._keep(self._text, self._at)
            self._next += ahead

    def flush_placed(self) -> list[Span]:
        """Return what is held, and what it stands for."""
        self._join()
        spans = list(self._rest())
        self._at = self._next = len(self._text)
        return spans

    def _decided(self, scans: Sequence[Scan]) -> Iterator[Span]:
        while True:
            for scan in scans:
                scan.look(self._next)
            start = min(scan.start for scan in scans)
            first = [scan for scan in scans if scan.start == start]
            found = [(scan.rule, each) for scan in first if (each := scan.found)]
            yield from self._up_to(start)
            if len(found) < len(first):
                self._again = self._next_look()
                return
            yield from self._matched(*max(found, key=_length))

    def _next_look(self) -> int:
        """How much is held when the rest of it is worth a look."""
        held = self.held
        return 0 if held < _LONG else min(held + held // _GROWTH, self._limit)

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

    def _too_long(self, scans: Sequence[Scan]) -> Iterator[Span]:
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
            # A part of it at once: each look costs as much as the text is long.
            least = self._limit - max(1, self._limit // _GROWTH)
            while self.held > least:
                yield from self._up_to(self._at + 1)
                yield from self._decided(scans)
        else:
            self._is_swallowing, self._limit = True, 2 * self._max
            yield Span(self._replaced_early(), 0, is_kept=False)

    def _replaced_early(self) -> str:
        for rule in self._rules:
            found = rule.begins(self._text, self._at)
            if found is not None:
                return self._replace(rule, found)
        raise AssertionError("text is held, and no pattern holds it")

    def _wait(self, text: str) -> None:
        """Hold a piece more; joined one by one, long texts would take forever."""
        self._more.append(text)
        self._waiting += len(text)

    def _join(self) -> None:
        if self._more:
            self._text = "".join((self._text, *self._more))
            self._more, self._waiting = [], 0

    def _keep(self, text: str, at: int) -> None:
        """Hold what starts at ``at``, and forget what decides on nothing any more."""
        gone = at - self._look_back
        if gone > 0:
            text = text[gone:]
            at = self._look_back
        self._text = text
        self._at = self._next = at


def _joined(spans: Iterable[Span]) -> Sequence[str]:
    text = "".join(span.text for span in spans)
    return (text,) if text else ()


def _length(match: tuple[Rule, Found]) -> int:
    return match[1].end() - match[1].start()
