"""Reactive streams for LLM agents: an agent is an RxPY operator.

Nouns are here; the catalogues are modules: `rxagent.advisors`, `rxagent.entities`,
`rxagent.errors`, `rxagent.guards`, `rxagent.memory`, `rxagent.models`,
`rxagent.operators`, `rxagent.output`, `rxagent.runtime`, `rxagent.testing`,
`rxagent.tools`, `rxagent.wire`.
"""

from typing import TYPE_CHECKING

from rxagent.agent import Agent, Prompt
from rxagent.chain import after, around, before
from rxagent.context import Context, Key
from rxagent.entities import Partial
from rxagent.events import (
    ApprovalRequested,
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    StageFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.named import by_order, named
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin, ToolSpec
from rxagent.responses import ChatResponse, FinishReason, Limit, Verdict
from rxagent.runtime import Flow
from rxagent.tools import Tool, ToolContext, tool
from rxagent.types import Advisor, Exchange, Operator
from rxagent.usage import Usage

if TYPE_CHECKING:
    from rxagent.models import model

__all__ = [
    "Advisor",
    "Agent",
    "ApprovalRequested",
    "AssistantMessage",
    "AssistantPart",
    "Audio",
    "ChatEvent",
    "ChatOptions",
    "ChatRequest",
    "ChatResponse",
    "Context",
    "Exchange",
    "File",
    "FinishReason",
    "Finished",
    "Flow",
    "Image",
    "Key",
    "Limit",
    "Message",
    "Opaque",
    "Operator",
    "Origin",
    "Partial",
    "Prompt",
    "Reasoning",
    "ReasoningDelta",
    "Refusal",
    "Retracted",
    "RetryPolicy",
    "RoundFinished",
    "StageFinished",
    "SystemMessage",
    "Text",
    "TextDelta",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolContext",
    "ToolFinished",
    "ToolMessage",
    "ToolProgress",
    "ToolSpec",
    "ToolStarted",
    "Usage",
    "UserMessage",
    "UserPart",
    "Verdict",
    "__version__",
    "after",
    "around",
    "before",
    "by_order",
    "just",
    "model",
    "named",
    "tool",
]

__version__: str

if not TYPE_CHECKING:  # else every name would be there for a type checker

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("rxagent")
        if name == "model":  # brings the network's library, which takes its time
            from rxagent.models import model

            return model
        raise AttributeError(f"module 'rxagent' has no attribute {name!r}")
