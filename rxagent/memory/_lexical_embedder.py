from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, log1p
from zlib import crc32

from reactivex import Observable

from rxagent.errors import ConfigurationError, RequestError
from rxagent.operators import just

__all__ = ["LexicalEmbedder"]

# Scripts without spaces: a run of them is taken apart into pairs.
_WORDS = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
    "|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalEmbedder:
    """Vectors of the words in a text, and of their pieces; no model, and no library.

    ::

        [ LexicalEmbedder()(texts) ]
        (v,|)                               one tuple, with a vector for each text

    Texts are close if they share words, or words that look alike: "invoice" and
    "invoices", and not "car" and "automobile".  Case, width and accents' composition do
    not count.  The same text has the same vector in every process.

    Args:
        dimensions: Length of the vectors; with fewer, words that differ meet by chance.

    Raises:
        ConfigurationError: If there are fewer than 8.
    """

    dimensions: int = 256

    def __post_init__(self) -> None:
        if self.dimensions < 8:
            raise ConfigurationError(
                f"dimensions must be 8 or more, got {self.dimensions}"
            )

    def __call__(
        self, texts: Sequence[str]
    ) -> Observable[tuple[tuple[float, ...], ...]]:
        """Embed ``texts``."""
        if isinstance(texts, str):  # its letters would be texts
            raise RequestError("pass a list of texts, not one text")
        return just(tuple(map(self._vector, texts)))

    def _vector(self, text: str) -> tuple[float, ...]:
        vector = [0.0] * self.dimensions
        for piece, count in Counter(_pieces(text)).items():
            # One hash, for where and for which sign; what meets by chance cancels out.
            place = crc32(piece.encode("utf-8", "replace"))
            vector[(place >> 1) % self.dimensions] += log1p(count) * (place % 2 * 2 - 1)
        length = hypot(*vector)
        return tuple(each / length for each in vector) if length else tuple(vector)


def _pieces(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    for word in _WORDS.findall(folded):
        yield word
        if "\u3040" <= word[0] <= "\ufaff":
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        else:
            marked = f"<{word}>"
            yield from (marked[at : at + 3] for at in range(len(marked) - 2))
