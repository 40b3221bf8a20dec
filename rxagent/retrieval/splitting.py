"""Documents cut into chunks that are short enough to be found and to be shown.

A chunk is a document.  It has the metadata of the whole, and three fields of its own:
``source``, the id of the whole unless that has such a field; ``start`` and ``end``, its
place in the text of the whole, in characters.  Its id is made of its source and of what
is in it, so the same chunk always has the same id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import TypeAlias, cast

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError, DocumentError
from rxagent.retrieval.document import Document
from rxagent.retrieval.given import check_document
from rxagent.retrieval.scalars import MetadataValue
from rxagent.retrieval.sections import section_spans
from rxagent.retrieval.spans import Span, check_sizes, sentence_spans, window_spans

__all__ = [
    "Splitter",
    "Tokens",
    "chunk",
    "split_headings",
    "split_sentences",
    "split_tokens",
    "word_tokens",
]

Splitter: TypeAlias = Callable[[Document], tuple[Document, ...]]
"""Cuts a document into chunks, in their order."""

Tokens: TypeAlias = Callable[[str], Sequence[str]]
"""Takes a text apart into tokens, which joined are the text."""

# About what a model's own would be: a word with its space, cut after six letters; a
# sign; a letter of a script without spaces.
_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKENS = re.compile(f"\\s*(?:[{_WIDE}]|[^\\W_{_WIDE}]{{1,6}}|[\\W_])")


def split_sentences(size: int = 1_000, *, overlap: int = 0) -> Splitter:
    """Cut documents into chunks of whole sentences.

    Args:
        size: Most characters of a chunk.  A longer sentence is cut between words, a
            longer word between letters.
        overlap: Most characters that a chunk has in common with the one before: whole
            sentences, if one is short enough, or else words.

    Returns:
        A splitter.  Nothing is lost between two chunks.

    Raises:
        ConfigurationError: If ``size`` is less than 1, or ``overlap`` is not less than
            ``size``, or less than 0.
    """
    return _Split("split_sentences", size, overlap, sentence_spans)


def split_tokens(
    size: int = 256, *, overlap: int = 0, tokens: Tokens | None = None
) -> Splitter:
    """Cut documents into chunks of as many tokens.

    Args:
        size: Tokens of a chunk; the last one may have fewer.
        overlap: Tokens that a chunk has in common with the one before.
        tokens: Of a text, such as those of your model.  By default `word_tokens`.

    Returns:
        A splitter.  If ``tokens`` loses something, splitting is a `DocumentError`.

    Raises:
        ConfigurationError: As of `split_sentences`.
    """
    check_callable("tokens", tokens)
    taken = tokens or word_tokens

    def spans(text: str, *, size: int, overlap: int) -> Iterable[Span]:
        ends = [0, *accumulate(map(len, _pieces(taken(text))))]
        if ends[-1] != len(text):
            raise DocumentError(
                "", f"has {len(text)} characters, and its tokens have {ends[-1]}"
            )
        for first, after in window_spans(len(ends) - 1, size=size, overlap=overlap):
            yield ends[first], ends[after]

    return _Split("split_tokens", size, overlap, spans)


def _pieces(made: object) -> Iterator[str]:
    pieces = cast("Iterable[object]", made) if isinstance(made, Iterable) else (made,)
    for each in pieces:
        if not isinstance(each, str):
            raise ConfigurationError(
                "tokens takes a function that cuts a text into pieces of it, and it "
                f"made a {type(each).__name__}; numbers of tokens have to be decoded"
            )
        yield each


def word_tokens(text: str) -> Sequence[str]:
    """Take a text apart as models do, roughly.

    Args:
        text: Any.

    Returns:
        Words with the space before them, cut after six letters; signs; letters of
        scripts without spaces.  Joined they are the text.
    """
    return _TOKENS.findall(text)


def split_headings(size: int = 1_000, *, overlap: int = 0) -> Splitter:
    """Cut Markdown documents at their headings.

    A chunk has the field ``headings``: what it stands under, the outermost first; an
    empty list before the first one.  See `rxagent.retrieval.sections` for what is one.

    Args:
        size: Most characters of a chunk; a longer section is cut into sentences.
        overlap: As of `split_sentences`; there is none between sections.

    Returns:
        A splitter.

    Raises:
        ConfigurationError: As of `split_sentences`.
    """
    check_sizes(size=size, overlap=overlap)

    def split(document: Document) -> tuple[Document, ...]:
        check_document(document)
        return tuple(
            chunk(
                document,
                start=start + section,
                end=end + section,
                headings=headings,
            )
            for (section, after), headings in section_spans(document.text)
            for start, end in sentence_spans(
                document.text[section:after], size=size, overlap=overlap
            )
        )

    return split


def chunk(
    document: Document, *, start: int, end: int, **fields: MetadataValue
) -> Document:
    """A part of a document.

    Args:
        document: The whole.
        start: Of the part, in characters.
        end: Behind it.
        fields: More metadata.

    Returns:
        A document; see this module for its metadata and its id.
    """
    text = document.text[start:end]
    metadata = {"source": document.id, **document.metadata, **fields}
    metadata |= {"start": start, "end": end}
    whole = json.dumps([text, metadata], sort_keys=True)
    digest = sha256(whole.encode()).hexdigest()[:24]
    return Document(id=f"{document.id}#{digest}", text=text, metadata=metadata)


@dataclass(frozen=True, slots=True, repr=False)
class _Split:
    name: str
    size: int
    overlap: int
    spans: Callable[..., Iterable[Span]]

    def __post_init__(self) -> None:
        check_sizes(size=self.size, overlap=self.overlap)

    def __call__(self, document: Document) -> tuple[Document, ...]:
        """The chunks of ``document``."""
        check_document(document)
        spans = self.spans(document.text, size=self.size, overlap=self.overlap)
        try:
            return tuple(chunk(document, start=start, end=end) for start, end in spans)
        except DocumentError as error:  # of the spans, which know only the text
            raise DocumentError(document.id, error.problem) from None

    def __repr__(self) -> str:
        return f"{self.name}({self.size}, overlap={self.overlap})"
