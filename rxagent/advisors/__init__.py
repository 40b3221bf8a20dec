"""Advisors: what a chain gains, one to a file."""

from rxagent.advisors._by_spelling import Ranking, by_spelling
from rxagent.advisors._log import log
from rxagent.advisors._re_reading import RE2, re_reading
from rxagent.advisors._safeguard import REFUSAL, safeguard
from rxagent.advisors._schema_tools import schema_tools
from rxagent.advisors._search_tool import DISCOVERED_TOOLS
from rxagent.advisors._tool_loop import tool_loop
from rxagent.advisors._tool_search import tool_search

__all__ = [
    "DISCOVERED_TOOLS",
    "RE2",
    "REFUSAL",
    "Ranking",
    "by_spelling",
    "log",
    "re_reading",
    "safeguard",
    "schema_tools",
    "tool_loop",
    "tool_search",
]
