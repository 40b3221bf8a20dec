"""Advisors: what a chain gains, one to a file."""

from rxagent.advisors._budget import OVER_BUDGET, TOO_LONG, budget
from rxagent.advisors._by_spelling import Ranking, by_spelling
from rxagent.advisors._log import log
from rxagent.advisors._pii import pii
from rxagent.advisors._re_reading import RE2, re_reading
from rxagent.advisors._safeguard import REFUSAL, safeguard
from rxagent.advisors._schema_tools import schema_tools
from rxagent.advisors._tool_loop import tool_loop

__all__ = [
    "OVER_BUDGET",
    "RE2",
    "REFUSAL",
    "TOO_LONG",
    "Ranking",
    "budget",
    "by_spelling",
    "log",
    "pii",
    "re_reading",
    "safeguard",
    "schema_tools",
    "tool_loop",
]
