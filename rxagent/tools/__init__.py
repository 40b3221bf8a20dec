"""What a model may call: tools, their schema, and the answer to one call or to many."""

from rxagent.tools.batch import run_batch
from rxagent.tools.call import run_call
from rxagent.tools.report import ToolEvent
from rxagent.tools.result import content_of
from rxagent.tools.tool import Tool, tool
from rxagent.tools.tool_context import ToolContext
from rxagent.tools.tool_index import tool_index
from rxagent.tools.truncate import MIN_RESULT_CHARS

__all__ = [
    "MIN_RESULT_CHARS",
    "Tool",
    "ToolContext",
    "ToolEvent",
    "content_of",
    "run_batch",
    "run_call",
    "tool",
    "tool_index",
]
