"""Advisors: what a chain gains, one to a file."""

from rxagent.advisors._budget import OVER_BUDGET, TOO_LONG, budget
from rxagent.advisors._by_spelling import Ranking, by_spelling
from rxagent.advisors._exact_cache import exact_cache
from rxagent.advisors._hold_until import hold_until
from rxagent.advisors._log import log
from rxagent.advisors._memory import memory
from rxagent.advisors._memory_section import MEMORY_NOTE
from rxagent.advisors._pii import pii
from rxagent.advisors._prompt_memory import prompt_memory
from rxagent.advisors._re_reading import RE2, re_reading
from rxagent.advisors._safeguard import REFUSAL, safeguard
from rxagent.advisors._schema_tools import schema_tools
from rxagent.advisors._semantic_cache import semantic_cache
from rxagent.advisors._summarise import SUMMARY_INSTRUCTIONS, summarise
from rxagent.advisors._tool_loop import tool_loop
from rxagent.advisors._trim import trim
from rxagent.advisors._vector_memory import MEMORY_TOP_K, vector_memory

__all__ = [
    "MEMORY_NOTE",
    "MEMORY_TOP_K",
    "OVER_BUDGET",
    "RE2",
    "REFUSAL",
    "SUMMARY_INSTRUCTIONS",
    "TOO_LONG",
    "Ranking",
    "budget",
    "by_spelling",
    "exact_cache",
    "hold_until",
    "log",
    "memory",
    "pii",
    "prompt_memory",
    "re_reading",
    "safeguard",
    "schema_tools",
    "semantic_cache",
    "summarise",
    "tool_loop",
    "trim",
    "vector_memory",
]
