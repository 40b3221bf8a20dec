"""What is indexed and found: a text with an id and with what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rxagent.errors import DocumentError
from rxagent.retrieval.scalars import MetadataValue, problem_of

__all__ = ["Document", "Metadata"]

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""What is known of a document, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that can be found.

    Args:
        id: Unique within an index.
        text: What is searched, and shown to a model.
        metadata: What filters look at; copied, lists as tuples.
        score: How well it fits what was looked for, more is better; ``None`` if nothing
            was.  Scores of different retrievers cannot be compared.  It is no part of
            equality.

    Raises:
        DocumentError: If something is there that not every index can keep: NUL, half
            a surrogate pair, a number that JSON cannot say or that needs more than 64
            bits, or metadata of another type.
    """

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict[str, MetadataValue], hash=False)
    score: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            raise DocumentError("", "has no id")
        for name, text in (("id", self.id), ("text", self.text)):
            if problem := _problem_of_text(text):
                raise DocumentError(str(self.id), f"has {problem} as its {name}")
        metadata: object = self.metadata
        if not isinstance(metadata, Mapping):
            kind = type(metadata).__name__
            raise DocumentError(self.id, f"has a {kind} as its metadata, not a mapping")
        kept = {key: self._kept(key, value) for key, value in self.metadata.items()}
        object.__setattr__(self, "metadata", kept)

    def _kept(self, key: str, value: MetadataValue) -> MetadataValue:
        if problem := _problem_of_text(key):
            raise DocumentError(self.id, f"has {problem} as a name of metadata")
        if value is None:
            return None
        kept = value
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            kept = tuple(value)
        for each in kept if isinstance(kept, tuple) else (kept,):
            if problem := problem_of(each):
                raise DocumentError(self.id, f"has {problem} as its {key!r}")
        return kept


def _problem_of_text(value: object) -> str | None:
    return problem_of(value) if isinstance(value, str) else f"a {type(value).__name__}"
