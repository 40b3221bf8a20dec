"""Retrieval: documents, filters over what is known of them, and where they are."""

from rxagent.retrieval._memory_documents import MemoryDocuments
from rxagent.retrieval._sqlite_documents import SqliteDocuments
from rxagent.retrieval.document import Document, Metadata
from rxagent.retrieval.filter_text import Bound, parse_filter
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
from rxagent.retrieval.fusion import fused, hybrid
from rxagent.retrieval.index import DocumentIndex
from rxagent.retrieval.matching import matches
from rxagent.retrieval.query import Query, Retriever, within
from rxagent.retrieval.scalars import MetadataValue, Scalar

__all__ = [
    "AllOf",
    "AnyOf",
    "Bound",
    "Compared",
    "Comparison",
    "Document",
    "DocumentIndex",
    "Field",
    "Filter",
    "Listed",
    "MemoryDocuments",
    "Metadata",
    "MetadataValue",
    "Null",
    "Query",
    "Retriever",
    "Scalar",
    "SqliteDocuments",
    "fused",
    "hybrid",
    "matches",
    "parse_filter",
    "within",
]
