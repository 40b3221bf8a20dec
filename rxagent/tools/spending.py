"""What a call costs if its tool is an agent."""

from __future__ import annotations

from rxagent.errors import RxAgentError
from rxagent.events import RoundFinished, ToolFinished
from rxagent.responses import ChatResponse
from rxagent.usage import Usage

__all__ = ["Spending"]


class Spending:
    """Counts the tokens of one call, over all attempts, whatever they come to.

    An answer and an error of ours say what they have cost.  An attempt that ends in
    another way, such as a timeout, has cost what it reported until then.
    """

    def __init__(self) -> None:
        self._ended: Usage | None = None
        self._reported: Usage | None = None  # by the attempt that runs

    @property
    def total(self) -> Usage | None:
        """Of the attempts that have ended; ``None`` if nothing was counted."""
        return self._ended

    def hear(self, reported: object) -> None:
        """Take what the tool reports as progress."""
        if isinstance(reported, RoundFinished):
            self._reported = _sum(self._reported, reported.response.usage)
        elif isinstance(reported, ToolFinished):  # of a tool of the agent
            self._reported = _sum(self._reported, reported.usage)

    def end(self, outcome: object) -> None:
        """Take what an attempt returned or raised."""
        said = (
            outcome.usage if isinstance(outcome, ChatResponse | RxAgentError) else None
        )
        self._ended = _sum(self._ended, self._reported if said is None else said)
        self._reported = None

    def charged(self, error: Exception) -> Exception:
        """The error that ends the stream, with what the call has cost."""
        if not isinstance(error, RxAgentError):
            return error
        before = self._ended
        if error.usage is None:
            before = _sum(before, self._reported)
        return error if before is None else error.after(before)


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
