"""One pattern over a text that goes on, as long as it does not match."""

from __future__ import annotations

from rxagent.guards._scan import LONG, Rule

__all__ = ["MATCHES", "Watch"]

MATCHES = -1


class Watch:
    """From where on a pattern may match.

    Args:
        rule: The pattern.
    """

    __slots__ = ("_is_open", "_look", "_rule", "_search", "_short", "start")

    def __init__(self, rule: Rule) -> None:
        self.start = 0
        """In characters of the whole text; before this place it does not match."""
        self._rule = rule
        self._look = rule.first_look
        self._search = rule.compiled.open.search
        self._is_open = rule.is_open
        self._short = rule.short

    def first(self, piece: str, text: str, at: int, offset: int) -> int:
        """Return where the pattern may match first; `MATCHES` if it does match.

        Args:
            piece: What came.
            text: What is there, with ``piece`` at its end.
            at: Where in it to start.
            offset: Where ``text`` starts in the whole text.
        """
        end = len(text)
        start = max(self.start - offset, at)
        if self._look is not None and self._look(text, start) is None:
            self.start = offset + end
            return end
        timeout_s = None if end - start < self._short else self._rule.timeout_s
        try:
            if end - len(piece) - start > LONG and self._is_open(
                text, start, timeout_s
            ):
                return start
            if timeout_s is None:
                found = self._search(text, start, partial=True)
            else:
                found = self._search(text, start, partial=True, timeout=timeout_s)
        except TimeoutError:
            raise self._rule.took_too_long() from None
        if found is None:
            start = end
        elif found.partial:
            start = found.start()
        else:
            return MATCHES
        self.start = offset + start
        return start
