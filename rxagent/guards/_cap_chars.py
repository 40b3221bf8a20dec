from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard
from rxagent.tools.truncate import boundary

_LONGEST_CLUSTER = 32  # in characters; what is read as one character is rarely 10
_CONTEXT = 64  # characters that tell where a cluster ends; a row of flags is long


def cap_chars(max_chars: int, *, notice: str = "…") -> TextGuard:
    """Deliver the first characters of a text, and say so if there were more.

    ::

        --a--b--c--(F,|)                  a = "Once", b = " upon a", c = " time"
        [ guard(cap_chars(6)) ]
        -----x-----(F,|)                  x = "Once u…"

    The model's answer is read to its end, so the response, its usage and what a memory
    stores are whole.

    Args:
        max_chars: How many characters of the text may leave.  Fewer do, where that
            many would cut what is read as one character: an emoji, a letter and its
            accents.
        notice: What is delivered in place of the rest; it is not counted.

    Returns:
        A text guard.  The last characters before the limit are held until the text
        ends or goes beyond it.

    Raises:
        ConfigurationError: At the call, if ``max_chars`` is less than 0.
    """
    if max_chars < 0:
        raise ConfigurationError(
            f"cap_chars takes 0 characters or more, got {max_chars}"
        )
    return NamedGuard(
        name="cap_chars",
        make=partial(_FirstChars, max_chars, notice),
        settings=str(max_chars),
    )


class _FirstChars:
    """Holds what may be cut off when more comes: the last characters of the limit."""

    __slots__ = ("_base", "_free", "_max", "_notice", "_seen", "_window", "is_done")

    def __init__(self, max_chars: int, notice: str) -> None:
        self._max = max_chars
        self._notice = notice
        self._free = max(0, max_chars - _LONGEST_CLUSTER)  # so many leave at once
        # A fixed place, so that the border does not depend on how the text is cut.
        self._base = max(0, max_chars - _CONTEXT)
        self._window = ""  # what was seen from there on
        self._seen = 0
        self.is_done = False

    @property
    def held(self) -> int:
        return 0 if self.is_done else max(0, self._seen - self._free)

    def feed(self, text: str, /) -> Sequence[str]:
        if self.is_done:
            return ()
        before, held = self._seen, self.held
        self._seen += len(text)
        if self._seen <= self._base:
            return (text,)
        self._window += text[max(0, self._base - before) :]
        if self._seen <= self._free:
            return (text,)
        if self._seen > self._max:
            self.is_done = True
            end = self._base + boundary(self._window, self._max - self._base)
        else:
            end = max(self._free, before - held)
        if held:
            piece = self._window[before - held - self._base : end - self._base]
        else:
            piece = text[: end - before]
        return (piece + self._notice,) if self.is_done else _some(piece)

    def flush(self) -> Sequence[str]:
        held = self.held
        return _some(self._window[len(self._window) - held :])


def _some(text: str) -> Sequence[str]:
    return (text,) if text else ()
