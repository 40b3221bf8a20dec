"""What a model may call: tools, their schema, and the answer to one call or to many."""

from rxagent.tools.batch import run_batch
from rxagent.tools.call import run_call
from rxagent.tools.call_settings import CallSettings
from rxagent.tools.executor import Answer, Executor
from rxagent.tools.executors import (
    ThreadsExecutor,
    concurrent,
    futures,
    sequential,
    threads,
)
from rxagent.tools.failure import Failures, failure_kind
from rxagent.tools.job import Job, Outcome, Submit
from rxagent.tools.report import ToolEvent
from rxagent.tools.result import content_of
from rxagent.tools.rules import ToolRules
from rxagent.tools.tool import Tool, tool
from rxagent.tools.tool_context import ToolContext
from rxagent.tools.tool_index import tool_index
from rxagent.tools.tool_result import ToolResult

__all__ = [
    "Answer",
    "CallSettings",
    "Executor",
    "Failures",
    "Job",
    "Outcome",
    "Submit",
    "ThreadsExecutor",
    "Tool",
    "ToolContext",
    "ToolEvent",
    "ToolResult",
    "ToolRules",
    "concurrent",
    "content_of",
    "failure_kind",
    "futures",
    "run_batch",
    "run_call",
    "sequential",
    "threads",
    "tool",
    "tool_index",
]
