"""JSON that is still being written, as the value that it holds so far."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import from_json

__all__ = ["PartialJson"]

# The last number may go on: 1 is no beginning of 12.  In a string this waits in vain.
_OF_NUMBERS = "-+.0123456789eE"
_GROWTH = 32


class PartialJson:
    """A transducer from pieces of JSON text to the values that they make so far.

    Each value is a beginning of the next one: texts grow, lists and objects get more at
    their ends, and nothing else changes.  A short text is read again with each piece, a
    long one when it has grown by a part of itself, so the cost is linear.

    Source: https://docs.pydantic.dev/latest/concepts/json/#partial-json-parsing
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._chars = 0
        self._wanted = 0  # characters at which it is read again
        self._last: list[object] = []  # the last value, if there is one

    def feed(self, text: str, /) -> Sequence[object]:
        """Take a piece; return the value so far, if it is another one."""
        self._pieces.append(text)
        self._chars += len(text)
        if self._chars < self._wanted:
            return ()
        self._wanted = self._chars + self._chars // _GROWTH
        return self._news(self._whole().rstrip(_OF_NUMBERS), partial=True)

    def flush(self) -> Sequence[object]:
        """Return the whole value, if the text is whole and the last one was not it."""
        return self._news(self._whole(), partial=False)

    def _whole(self) -> str:
        whole = "".join(self._pieces)
        self._pieces = [whole]
        return whole

    def _news(self, text: str, *, partial: bool) -> Sequence[object]:
        try:
            value = from_json(
                text,
                allow_partial="trailing-strings" if partial else False,
                allow_inf_nan=False,
            )
        except (ValueError, TypeError):  # TypeError: half of a surrogate pair
            return ()
        if self._last == [value]:
            return ()
        self._last = [value]
        return (value,)
