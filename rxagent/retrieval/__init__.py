"""Retrieval: documents, filters over what is known of them, and where they are."""

from rxagent.retrieval.document import Document, Metadata
from rxagent.retrieval.filters import (
    AllOf,
    AnyOf,
    Compared,
    Comparison,
    Field,
    Filter,
    Listed,
    Null,
)
from rxagent.retrieval.index import DocumentIndex
from rxagent.retrieval.matching import matches
from rxagent.retrieval.query import Query, Retriever, within
from rxagent.retrieval.scalars import MetadataValue, Scalar

__all__ = [
    "AllOf",
    "AnyOf",
    "Compared",
    "Comparison",
    "Document",
    "DocumentIndex",
    "Field",
    "Filter",
    "Listed",
    "Metadata",
    "MetadataValue",
    "Null",
    "Query",
    "Retriever",
    "Scalar",
    "matches",
    "within",
]
