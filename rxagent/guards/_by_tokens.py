from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._held_text import HeldText
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard
from rxagent.guards._words import Words, estimated_tokens


def by_tokens(size: float, *, count: Callable[[str], float] | None = None) -> TextGuard:
    """Deliver pieces of about ``size`` tokens, of whole words.

    ::

        --a--b--(F,|)                     a = "Once upon", b = " a time"
        [ guard(by_tokens(2, count=words)) ]
        -----x--(y,F,|)                   x = "Once upon", y = " a time"; words counts
                                          each word as 1
    Args:
        size: A piece leaves with the word that makes it as long as this, when the end
            of the word is seen.
        count: Tokens of a word and the space before it, such as ``lambda text:
            len(encoding.encode(text))``.  Default: a quarter of its bytes in UTF-8,
            which is near for most languages, and not exact for any.

    Returns:
        A text guard.  Its pieces are the same however the text is cut.  The last piece
        leaves at the end of the text; an error and a disposal drop it.  An exception of
        ``count`` is the error of the stream.

    Raises:
        ConfigurationError: At the call, if ``size`` is not more than 0.
    """
    if not size > 0:
        raise ConfigurationError(f"by_tokens takes more than 0 tokens, got {size}")
    return NamedGuard(
        name="by_tokens",
        make=partial(_Pieces, size, count or estimated_tokens),
        settings=f"{size:g}",
    )


class _Pieces:
    """Holds the piece that is not long enough, and the word that is not whole."""

    __slots__ = ("_count", "_piece", "_size", "_tokens", "_words")

    def __init__(self, size: float, count: Callable[[str], float]) -> None:
        self._size = size
        self._count = count
        self._words = Words()
        self._piece = HeldText()
        self._tokens = 0.0  # of the piece

    @property
    def held(self) -> int:
        return self._piece.length + self._words.held

    def feed(self, text: str, /) -> Sequence[str]:
        return self._long_enough(self._words.feed(text))

    def flush(self) -> Sequence[str]:
        return [*self._long_enough(self._words.flush()), *self._piece.take()]

    def _long_enough(self, words: Sequence[str]) -> Sequence[str]:
        pieces: list[str] = []
        for word in words:
            self._piece.add(word)
            self._tokens += self._count(word)
            if self._tokens >= self._size:
                pieces += self._piece.take()
                self._tokens = 0.0
        return pieces
