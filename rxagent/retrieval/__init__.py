"""Retrieval: documents, filters over what is known of them, and where they are."""

from typing import TYPE_CHECKING

from rxagent.lazily import lazily

if TYPE_CHECKING:
    from rxagent.retrieval._indexed_store import IndexedStore
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
    from rxagent.retrieval.ingesting import Ingested, ingest
    from rxagent.retrieval.matching import matches
    from rxagent.retrieval.query import Query, Retriever, within
    from rxagent.retrieval.reading import Reader, read_folder, read_text
    from rxagent.retrieval.scalars import MetadataValue, Scalar
    from rxagent.retrieval.sources import Passage, Source
    from rxagent.retrieval.splitting import (
        Splitter,
        Tokens,
        split_headings,
        split_sentences,
        split_tokens,
        word_tokens,
    )

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
    "IndexedStore",
    "Ingested",
    "Listed",
    "MemoryDocuments",
    "Metadata",
    "MetadataValue",
    "Null",
    "Passage",
    "Query",
    "Reader",
    "Retriever",
    "Scalar",
    "Source",
    "Splitter",
    "SqliteDocuments",
    "Tokens",
    "fused",
    "hybrid",
    "ingest",
    "matches",
    "parse_filter",
    "read_folder",
    "read_text",
    "split_headings",
    "split_sentences",
    "split_tokens",
    "within",
    "word_tokens",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "_indexed_store": ["IndexedStore"],
            "_memory_documents": ["MemoryDocuments"],
            "_sqlite_documents": ["SqliteDocuments"],
            "document": ["Document", "Metadata"],
            "filter_text": ["Bound", "parse_filter"],
            "filters": [
                "AllOf",
                "AnyOf",
                "Compared",
                "Comparison",
                "Field",
                "Filter",
                "Listed",
                "Null",
            ],
            "fusion": ["fused", "hybrid"],
            "index": ["DocumentIndex"],
            "ingesting": ["Ingested", "ingest"],
            "matching": ["matches"],
            "query": ["Query", "Retriever", "within"],
            "reading": ["Reader", "read_folder", "read_text"],
            "scalars": ["MetadataValue", "Scalar"],
            "sources": ["Passage", "Source"],
            "splitting": [
                "Splitter",
                "Tokens",
                "split_headings",
                "split_sentences",
                "split_tokens",
                "word_tokens",
            ],
        },
    )
