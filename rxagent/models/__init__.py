"""Models: exchanges that answer, one provider to a file."""

from rxagent.models._anthropic_chat import AnthropicChat
from rxagent.models._local_chat import LocalChat
from rxagent.models._ollama_chat import OllamaChat
from rxagent.models._openai_chat import OpenAIChat

__all__ = ["AnthropicChat", "LocalChat", "OllamaChat", "OpenAIChat"]
