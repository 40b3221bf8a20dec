"""Models: exchanges that answer, one provider to a file."""

from rxagent.models._anthropic_chat import AnthropicChat
from rxagent.models._gemini_chat import GeminiChat
from rxagent.models._local_chat import LocalChat
from rxagent.models._openai_chat import OpenAIChat
from rxagent.models._openai_responses import OpenAIResponses

__all__ = ["AnthropicChat", "GeminiChat", "LocalChat", "OpenAIChat", "OpenAIResponses"]
