"""The numbers of documents in an answer, such as [1] and [2, 3]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rxagent.guards._sentences import Sentences
from rxagent.retrieval import Document, Passage

__all__ = ["Marker", "MarkerWriter", "markers_of", "passages_of"]

_INSIDE = r"[\d ,、，]{1,24}"  # longer ones are no markers, so little is held
_MARKER = re.compile(rf"[\[【]({_INSIDE})[\]】]")
_BEGINNING = re.compile(r"[\[【][\d ,、，]{0,24}$")
_NUMBER = re.compile(r"\d+")


class Marker:
    """One marker, of one number or of several.

    Args:
        found: Where it stands.
    """

    __slots__ = ("end", "numbers", "start")

    def __init__(self, found: re.Match[str]) -> None:
        self.start, self.end = found.span()
        self.numbers = [int(each) for each in _NUMBER.findall(found[1])]


def markers_of(text: str) -> Iterator[Marker]:
    """Find the markers of a text, in order.

    Args:
        text: Of an answer.
    """
    for found in _MARKER.finditer(text):
        marker = Marker(found)
        if marker.numbers:
            yield marker


def passages_of(text: str) -> Iterator[tuple[Marker, Passage]]:
    """Find the markers of a text, each with what it stands behind.

    That is what its sentence says before it, from the last marker on.  If that is
    nothing, it is what the marker before has; behind the end of a sentence, that
    sentence; at the start of the text, the sentence that follows.

    Args:
        text: Of an answer.
    """
    sentences = [*_sentences(text)]
    place, said, last = 0, None, 0
    for marker in markers_of(text):
        while sentences[place].end <= marker.start:
            sentence = _trimmed(
                text, max(sentences[place].start, last), sentences[place].end
            )
            if sentence is not None:
                said = sentence
            place += 1
        before = _trimmed(text, max(sentences[place].start, last), marker.start)
        said = before or said or _trimmed(text, marker.end, sentences[place].end)
        last = marker.end
        yield marker, said or Passage(start=marker.start, end=marker.start)


class MarkerWriter:
    """Writes the markers of a text that comes in pieces in another way.

    Args:
        documents: Whose numbers are known; others stay as they are.
        write: Gets a number and its document.
    """

    __slots__ = ("_documents", "_held", "_write")

    def __init__(
        self, documents: Sequence[Document], write: Callable[[int, Document], str]
    ) -> None:
        self._documents = documents
        self._write = write
        self._held = ""

    @property
    def held(self) -> int:
        """How many characters wait."""
        return len(self._held)

    def feed(self, text: str, /) -> Sequence[str]:
        """Take a piece; return what is decided."""
        text = self._held + text
        beginning = _BEGINNING.search(text)
        cut = beginning.start() if beginning else len(text)
        self._held = text[cut:]
        return self._written(text[:cut])

    def flush(self) -> Sequence[str]:
        """Return what is held: it is no marker."""
        held, self._held = self._held, ""
        return (held,) if held else ()

    def _written(self, text: str) -> Sequence[str]:
        pieces, start = list[str](), 0
        for marker in markers_of(text):
            known = [n for n in marker.numbers if 1 <= n <= len(self._documents)]
            if not known:
                continue
            pieces.append(text[start : marker.start])
            pieces += map(self._one, marker.numbers)
            start = marker.end
        written = "".join((*pieces, text[start:]))
        return (written,) if written else ()

    def _one(self, number: int) -> str:
        if 1 <= number <= len(self._documents):
            return self._write(number, self._documents[number - 1])
        return f"[{number}]"


def _sentences(text: str) -> Iterator[Passage]:
    ends = Sentences(abbreviations=())
    start = 0
    for sentence in (*ends.feed(text), *ends.flush()):
        yield Passage(start=start, end=start + len(sentence))
        start += len(sentence)


def _trimmed(text: str, start: int, end: int) -> Passage | None:
    """A passage without space at its ends; none if there is nothing else."""
    piece = text[start:end]
    if not piece.strip():
        return None
    start += len(piece) - len(piece.lstrip())
    return Passage(start=start, end=start + len(piece.strip()))
