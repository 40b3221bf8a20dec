from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard
from rxagent.guards._words import Words, estimated_tokens


def cap_tokens(
    max_tokens: float,
    *,
    count: Callable[[str], float] | None = None,
    notice: str = "…",
) -> TextGuard:
    """Deliver the first tokens of a text, and say so if there were more.

    ::

        --a--b--c--(F,|)                  a = "Once", b = " upon a", c = " time"
        [ guard(cap_tokens(2, count=words)) ]
        -----x--y--(F,|)                  x = "Once upon", y = "…"; words counts 1 each

    Whole words leave, so a word is held until its end is seen.  The model's answer is
    read to its end, so the response, its usage and what a memory stores are whole; to
    pay for fewer tokens, set ``ChatOptions.max_tokens``.

    Args:
        max_tokens: How many may leave.
        count: Tokens of a word and the space before it, such as ``lambda text:
            len(encoding.encode(text))``.  Default: a quarter of its bytes in UTF-8,
            which is near for most languages, and not exact for any.
        notice: What is delivered in place of the rest; it is not counted.

    Returns:
        A text guard.  The last word leaves at the end of the text; an error and a
        disposal drop it.  An exception of ``count`` is the error of the stream.

    Raises:
        ConfigurationError: At the call, if ``max_tokens`` is less than 0.
    """
    if max_tokens < 0:
        raise ConfigurationError(f"cap_tokens takes 0 tokens or more, got {max_tokens}")
    return NamedGuard(
        name="cap_tokens",
        make=partial(_FirstTokens, max_tokens, count or estimated_tokens, notice),
        settings=f"{max_tokens:g}",
    )


class _FirstTokens:
    """Lets whole words out, as long as there is room for them."""

    __slots__ = ("_count", "_notice", "_room", "_words", "is_done")

    def __init__(
        self, max_tokens: float, count: Callable[[str], float], notice: str
    ) -> None:
        self._room = max_tokens
        self._count = count
        self._notice = notice
        self._words = Words()
        self.is_done = False

    @property
    def held(self) -> int:
        return 0 if self.is_done else self._words.held

    def feed(self, text: str, /) -> Sequence[str]:
        return () if self.is_done else self._fitting(self._words.feed(text))

    def flush(self) -> Sequence[str]:
        return () if self.is_done else self._fitting(self._words.flush())

    def _fitting(self, words: Sequence[str]) -> Sequence[str]:
        fitting: list[str] = []
        for word in words:
            self._room -= self._count(word)
            if self._room < 0:
                self.is_done = True
                fitting.append(self._notice)
                break
            fitting.append(word)
        text = "".join(fitting)
        return (text,) if text else ()
