"""One pattern over one text that goes on: what it matches, and what it may."""

from __future__ import annotations

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards._beginnings import beginnings, run_of
from rxagent.guards._engine import Compiled, Found
from rxagent.guards._first_look import first_look
from rxagent.guards._pattern import Pattern

__all__ = ["LONG", "Rule", "Scan"]

_SHORT = 12  # characters: no search in them takes long, and a clock does
_SHORT_AND_TAME = 128
_NEAR = 64  # characters before the text; to look at more of them needs a clock
LONG = 16  # characters: from here on, a place is asked before the text behind it
_VERY_LONG = 256  # characters: from here on, so many of the places behind it are, too,
_STEPS = 32  # since a search looks for a match in all of the text, and then once more


class Rule:
    """A pattern, ready to be looked for.

    Args:
        guard: Whose it is; for errors.
        pattern: What to look for.
        number: Of the pattern, from 1; its name, if it has no other.
        timeout_s: How long a search may take, in seconds.

    Raises:
        ConfigurationError: If no stream can follow the pattern, or it never ends.
    """

    __slots__ = (
        "beginnings",
        "compiled",
        "first_look",
        "guard",
        "name",
        "pattern",
        "run",
        "short",
        "timeout_s",
    )

    def __init__(
        self, guard: str, pattern: Pattern, number: int, *, timeout_s: float
    ) -> None:
        self.guard = guard
        self.pattern = pattern
        self.name = pattern.name or f"pattern {number}"
        self.timeout_s = timeout_s
        shown = f"{guard}'s {self.name}"
        self.compiled = Compiled(pattern.expression, name=shown)
        try:
            self.first_look = first_look(self.compiled)
            self.beginnings = beginnings(self.compiled)
            self.run = run_of(self.compiled)
        except MemoryError:  # all that the engine says of a recursion
            raise ConfigurationError(
                f"{shown} calls itself without end; the engine cannot search for it"
            ) from None
        self.short = _SHORT_AND_TAME if self.compiled.is_tame else _SHORT
        if self.compiled.look_back > _NEAR:
            self.short = 0
        """A text of fewer characters needs no clock."""

    def first(self, text: str, at: int) -> Found | None:
        """Find the first match, from ``at`` on, in a text that is complete."""
        try:
            found = self.compiled.whole.search(text, at, timeout=self.timeout_s)
            while found is not None and not self.holds(found):
                at = found.start() + 1
                if at > len(text):
                    return None
                found = self.compiled.whole.search(text, at, timeout=self.timeout_s)
        except TimeoutError:
            raise self.took_too_long() from None
        return found

    def candidate(self, text: str, at: int) -> int | None:
        """The first place from ``at`` on where a match may start, if it shows."""
        if self.first_look is None:
            return at if at < len(text) else None
        hit = self.first_look.search(text, at)
        return None if hit is None else hit.start()

    def is_open(self, text: str, at: int, timeout_s: float | None = None) -> bool:
        """Whether the end of the text decides on what is found at ``at``."""
        engines = self.compiled
        found = engines.open.match(text, at, partial=True, timeout=timeout_s)
        if found is None or found.partial:
            return found is not None
        return bool(engines.touches.match(text, at, partial=True, timeout=timeout_s))

    def begins(self, text: str, at: int) -> Found | None:
        """Find what may become a match at ``at``, in a text that goes on."""
        try:
            return self.compiled.touches.match(
                text, at, partial=True, timeout=self.timeout_s
            )
        except TimeoutError:
            raise self.took_too_long() from None

    def holds(self, found: Found) -> bool:
        """Whether what the engine has found is a match."""
        check = self.pattern.check
        return check is None or check(found.group())

    def took_too_long(self) -> GuardError:
        """The error for a pattern that is a catastrophe for this text."""
        return GuardError(
            self.guard,
            f"took more than {self.timeout_s} s to look for {self.name}; write it so "
            "that it cannot match one text in many ways",
        )


class Scan:
    """Where a pattern matters next, in a text that goes on.

    Args:
        rule: The pattern.
        text: What is there of the text.
    """

    __slots__ = ("_text", "_touch", "found", "rule", "start")

    def __init__(self, rule: Rule, text: str) -> None:
        self.rule = rule
        self.start = -1
        """Before this place it does not match."""
        self.found: Found | None = None
        """What it matches there; ``None``: that is not decided."""
        self._text = text
        self._touch = -1  # from a search for the first place on which the end decides

    def look(self, at: int) -> None:
        """Look for the first place from ``at`` on."""
        if self.start >= at:
            return
        is_short = len(self._text) - at < self.rule.short
        timeout_s = None if is_short else self.rule.timeout_s
        try:
            self.start, self.found = self._first(at, timeout_s)
        except TimeoutError:
            raise self.rule.took_too_long() from None

    def _first(self, at: int, timeout_s: float | None) -> tuple[int, Found | None]:
        engine, text, end = self.rule.compiled.open, self._text, len(self._text)
        if end - at > LONG and self.rule.is_open(text, at, timeout_s):
            return at, None
        if end - at > _VERY_LONG:
            for _ in range(_STEPS):
                place = self.rule.candidate(text, at)
                if place is None:
                    return end, None
                at = place
                if self.rule.is_open(text, at, timeout_s):
                    return at, None
                found = engine.match(text, at, timeout=timeout_s)
                if found is not None and self.rule.holds(found):
                    return at, found
                at += 1
        while True:
            found = engine.search(text, at, partial=True, timeout=timeout_s)
            if found is None:
                return end, None
            start = found.start()
            if found.partial:
                # Of some back references and lazy repeats a search says too much.
                if start == end or self.rule.is_open(text, start, timeout_s):
                    return start, None
                at = start + 1
                continue
            touch = self._first_touch(at, start, timeout_s)
            if touch <= start or start == end:
                return touch, None
            if self.rule.holds(found):
                return start, found
            at = start + 1

    def _first_touch(self, at: int, last: int, timeout_s: float | None) -> int:
        """The first place on which the end decides, if it is not after ``last``."""
        touches, text, end = self.rule.compiled.touches, self._text, len(self._text)
        if last - at < LONG:
            for place in range(at, last + 1):
                if touches.match(text, place, partial=True, timeout=timeout_s):
                    return place
            return end
        if self._touch < at:
            touch = touches.search(text, at, partial=True, timeout=timeout_s)
            self._touch = end if touch is None else touch.start()
        return self._touch
