"""What a filter finds in an index, beside what it should find."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.retrieval import Document, DocumentIndex, Filter, Metadata, Query, matches
from rxagent.runtime import run

__all__ = ["assert_same_answers"]


def assert_same_answers(
    index: DocumentIndex, known: Sequence[Metadata], wanted: Filter
) -> None:
    """Put documents into an index that is empty, look, and take them out again."""
    documents = [
        Document(id=str(number), text="word", metadata=metadata)
        for number, metadata in enumerate(known)
    ]
    right = [each.id for each in documents if matches(wanted, each.metadata)]
    run(index.add(documents))
    try:
        assert run(index.ids(wanted)) == tuple(sorted(right))
        query = Query(text="word", filter=wanted, top_k=len(documents))
        assert {each.id for each in run(index.search(query))} == {*right}
        assert run(index.delete(wanted)) == len(right)
    finally:
        run(index.delete([each.id for each in documents]))
