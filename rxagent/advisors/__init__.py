"""Advisors: what a chain gains, one to a file."""

from typing import TYPE_CHECKING

from rxagent.lazily import lazily

if TYPE_CHECKING:
    from rxagent.advisors._answering import QA_DOCUMENTS, QA_FILTER
    from rxagent.advisors._augmented import CITED_TEMPLATE, QA_TEMPLATE
    from rxagent.advisors._budget import OVER_BUDGET, TOO_LONG, budget
    from rxagent.advisors._by_spelling import Ranking, by_spelling
    from rxagent.advisors._citations import CITATIONS, citations
    from rxagent.advisors._exact_cache import exact_cache
    from rxagent.advisors._hold_until import hold_until
    from rxagent.advisors._log import log
    from rxagent.advisors._memory import memory
    from rxagent.advisors._memory_section import MEMORY_NOTE
    from rxagent.advisors._pii import pii
    from rxagent.advisors._prompt_memory import prompt_memory
    from rxagent.advisors._question_answer import question_answer
    from rxagent.advisors._rag import rag
    from rxagent.advisors._re_reading import RE2, re_reading
    from rxagent.advisors._resuming import resuming
    from rxagent.advisors._safeguard import REFUSAL, safeguard
    from rxagent.advisors._schema_tools import schema_tools
    from rxagent.advisors._search_tool import DISCOVERED_TOOLS
    from rxagent.advisors._semantic_cache import semantic_cache
    from rxagent.advisors._summarise import SUMMARY_INSTRUCTIONS, summarise
    from rxagent.advisors._tool_loop import tool_loop
    from rxagent.advisors._tool_search import tool_search
    from rxagent.advisors._trim import trim
    from rxagent.advisors._validate import AnswerCheck, validate
    from rxagent.advisors._vector_memory import MEMORY_TOP_K, vector_memory

__all__ = [
    "CITATIONS",
    "CITED_TEMPLATE",
    "DISCOVERED_TOOLS",
    "MEMORY_NOTE",
    "MEMORY_TOP_K",
    "OVER_BUDGET",
    "QA_DOCUMENTS",
    "QA_FILTER",
    "QA_TEMPLATE",
    "RE2",
    "REFUSAL",
    "SUMMARY_INSTRUCTIONS",
    "TOO_LONG",
    "AnswerCheck",
    "Ranking",
    "budget",
    "by_spelling",
    "citations",
    "exact_cache",
    "hold_until",
    "log",
    "memory",
    "pii",
    "prompt_memory",
    "question_answer",
    "rag",
    "re_reading",
    "resuming",
    "safeguard",
    "schema_tools",
    "semantic_cache",
    "summarise",
    "tool_loop",
    "tool_search",
    "trim",
    "validate",
    "vector_memory",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "_answering": ["QA_DOCUMENTS", "QA_FILTER"],
            "_augmented": ["CITED_TEMPLATE", "QA_TEMPLATE"],
            "_budget": ["OVER_BUDGET", "TOO_LONG", "budget"],
            "_by_spelling": ["Ranking", "by_spelling"],
            "_citations": ["CITATIONS", "citations"],
            "_exact_cache": ["exact_cache"],
            "_hold_until": ["hold_until"],
            "_log": ["log"],
            "_memory": ["memory"],
            "_memory_section": ["MEMORY_NOTE"],
            "_pii": ["pii"],
            "_prompt_memory": ["prompt_memory"],
            "_question_answer": ["question_answer"],
            "_rag": ["rag"],
            "_re_reading": ["RE2", "re_reading"],
            "_resuming": ["resuming"],
            "_safeguard": ["REFUSAL", "safeguard"],
            "_schema_tools": ["schema_tools"],
            "_search_tool": ["DISCOVERED_TOOLS"],
            "_semantic_cache": ["semantic_cache"],
            "_summarise": ["SUMMARY_INSTRUCTIONS", "summarise"],
            "_tool_loop": ["tool_loop"],
            "_tool_search": ["tool_search"],
            "_trim": ["trim"],
            "_validate": ["AnswerCheck", "validate"],
            "_vector_memory": ["MEMORY_TOP_K", "vector_memory"],
        },
    )
