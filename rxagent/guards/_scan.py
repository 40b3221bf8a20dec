"""One pattern over one text that goes on: what it matches, and what it may."""

from __future__ import annotations

from rxagent.errors import GuardError
from rxagent.guards._engine import Compiled, Found
from rxagent.guards._pattern import Pattern

__all__ = ["SHORT", "Rule", "Scan"]

SHORT = 24  # characters; no search in them takes long, and a clock does
_LONG = 64  # characters; from here on, a place is asked before the text behind it


class Rule:
    """A pattern, ready to be looked for.

    Args:
        guard: Whose it is; for errors.
        pattern: What to look for.
        number: Of the pattern, from 1; its name, if it has no other.
        timeout_s: How long a search may take, in seconds.

    Raises:
        ConfigurationError: If no stream can follow the pattern.
    """

    __slots__ = ("compiled", "guard", "name", "pattern", "timeout_s")

    def __init__(
        self, guard: str, pattern: Pattern, number: int, *, timeout_s: float
    ) -> None:
        self.guard = guard
        self.pattern = pattern
        self.name = pattern.name or f"pattern {number}"
        self.timeout_s = timeout_s
        self.compiled = Compiled(pattern.expression, name=f"{guard}'s {self.name}")

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
        self._touch = -1  # the first place on which the end of the text decides

    def look(self, at: int) -> None:
        """Look for the first place from ``at`` on."""
        if self.start >= at:
            return
        is_short = len(self._text) - at < SHORT
        timeout_s = None if is_short else self.rule.timeout_s
        try:
            self.start, self.found = self._first(at, timeout_s)
        except TimeoutError:
            raise self.rule.took_too_long() from None

    def _first(self, at: int, timeout_s: float | None) -> tuple[int, Found | None]:
        compiled, text, end = self.rule.compiled, self._text, len(self._text)
        if end - at > _LONG and compiled.touches.match(
            text, at, partial=True, timeout=timeout_s
        ):
            return at, None
        while True:
            found = compiled.open.search(text, at, partial=True, timeout=timeout_s)
            if found is None:
                return end, None
            start = found.start()
            if found.partial:
                return start, None
            if self._touch < at:
                touch = compiled.touches.search(
                    text, at, partial=True, timeout=timeout_s
                )
                self._touch = end if touch is None else touch.start()
            if self._touch <= start or start == end:
                return min(self._touch, end), None
            if self.rule.holds(found):
                return start, found
            at = start + 1
