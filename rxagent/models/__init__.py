"""Models: exchanges that answer, one provider to a file; and what embeds texts."""

from rxagent.models._anthropic_chat import AnthropicChat
from rxagent.models._gemini_chat import GeminiChat
from rxagent.models._gemini_embeddings import GeminiEmbeddings
from rxagent.models._local_chat import LocalChat
from rxagent.models._ollama_chat import OllamaChat
from rxagent.models._ollama_embeddings import OllamaEmbeddings
from rxagent.models._openai_chat import OpenAIChat
from rxagent.models._openai_embeddings import OpenAIEmbeddings
from rxagent.models._openai_responses import OpenAIResponses

__all__ = [
    "AnthropicChat",
    "GeminiChat",
    "GeminiEmbeddings",
    "LocalChat",
    "OllamaChat",
    "OllamaEmbeddings",
    "OpenAIChat",
    "OpenAIEmbeddings",
    "OpenAIResponses",
]
