"""Finding the tools that a model asks for, among many."""

from rxagent.search.keyword_index import KeywordIndex
from rxagent.search.regex_index import RegexIndex
from rxagent.search.tool_index import Search, ToolIndex
from rxagent.search.vector_index import VectorIndex

__all__ = [
    "KeywordIndex",
    "RegexIndex",
    "Search",
    "ToolIndex",
    "VectorIndex",
]
