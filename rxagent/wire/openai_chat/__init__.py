"""OpenAI's chat completions: the format that most servers speak, more or less."""

from rxagent.wire.openai_chat.dialect import OpenAIChatDialect
from rxagent.wire.openai_chat.messages import ReasoningMember, SendReasoning

__all__ = ["OpenAIChatDialect", "ReasoningMember", "SendReasoning"]
