"""Models: exchanges that answer, one provider to a file."""

from rxagent.models._openai_chat import OpenAIChat

__all__ = ["OpenAIChat"]
