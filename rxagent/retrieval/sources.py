"""What an answer rests on."""

from __future__ import annotations

from dataclasses import dataclass

from rxagent.retrieval.document import Document

__all__ = ["Passage", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of an answer's text, which is ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document that a question was asked with, and what of the answer names it.

    Args:
        number: By which the answer names it, from 1.
        document: As it was found.
        passages: What stands before its markers, in order; none if it is not named.
    """

    number: int
    document: Document
    passages: tuple[Passage, ...] = ()

    @property
    def id(self) -> str:
        """Of the document."""
        return self.document.id
