"""One pattern over a text that goes on, as long as it does not match."""

from __future__ import annotations

from rxagent.guards._beginnings import Run
from rxagent.guards._scan import LONG, Rule

__all__ = ["MATCHES", "Watch"]

MATCHES = -1


class Watch:
    """From where on a pattern may match.

    Args:
        rule: The pattern.
    """

    __slots__ = (
        "_beginnings",
        "_is_open",
        "_look",
        "_rule",
        "_run",
        "_search",
        "_short",
        "is_run",
        "lead",
    )

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._run = rule.run
        self._look = rule.first_look.search if rule.first_look is not None else None
        self._beginnings = rule.beginnings
        self._search = rule.compiled.open.search
        self._is_open = rule.is_open
        self._short = rule.short
        self.forget()

    def forget(self) -> None:
        """Start anew: what was held before has changed."""
        self.lead = 0
        """Characters of the held text before the first place where it may match."""
        self.is_run = False
        """What is held behind them is the run with which the pattern starts."""

    def first(self, piece: str, text: str, at: int) -> int:
        """Return where the pattern may match first; `MATCHES` if it does match.

        Args:
            piece: What came.
            text: What is there, with ``piece`` at its end.
            at: Where in it the held text starts.
        """
        start, end = at + self.lead, len(text)
        if self._run is not None:
            known = self._by_run(self._run, piece, text, start)
            self.is_run = known is not None
            if known is not None:
                return known
        if self._look is not None:
            hit = self._look(text, start)
            if hit is None:
                return end
            if hit.start() == end - 1:
                begins = self._beginnings.get(text[end - 2 :])
                if begins is not None:
                    return end - begins
        return self._asked(piece, text, start)

    def goes_on(self, piece: str, held: int) -> bool:
        """Whether a piece is more of the run, and nothing else.

        Args:
            piece: What came.
            held: Characters that were held before it.
        """
        run, size = self._run, held - self.lead
        return (
            self.is_run
            and run is not None
            and 0 < size <= run.most - len(piece)
            and piece.isascii()
            and not piece.rstrip(run.chars)
        )

    def _by_run(self, run: Run, piece: str, text: str, start: int) -> int | None:
        """Where the run starts in which the text ends; ``None`` if that does not tell.

        The engine is not asked.
        """
        end = len(text)
        old = end - len(piece)
        if not (self.is_run or start == old) or not piece.isascii():
            return None
        rest = piece.rstrip(run.chars)
        if run.stop in rest:
            return None
        if rest:
            start = old + len(rest)
        if start == end:
            return start
        is_known = start < old or text[start - 1 : start + 1] in run.begins
        return start if is_known and end - start <= run.most else None

    def _asked(self, piece: str, text: str, start: int) -> int:
        end = len(text)
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
            return end
        if not found.partial:
            return MATCHES
        start = found.start()
        if self._run is not None:
            self.is_run = not text[start:].rstrip(self._run.chars)
        return start
