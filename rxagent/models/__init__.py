"""Models: exchanges that answer, one provider to a file; and what embeds texts."""

from rxagent.models._anthropic_chat import AnthropicChat
from rxagent.models._fallback import Fallback
from rxagent.models._gemini_chat import GeminiChat
from rxagent.models._gemini_embeddings import GeminiEmbeddings
from rxagent.models._local_chat import LocalChat
from rxagent.models._local_embeddings import LocalEmbeddings
from rxagent.models._model import model
from rxagent.models._ollama_chat import OllamaChat
from rxagent.models._ollama_embeddings import OllamaEmbeddings
from rxagent.models._openai_chat import OpenAIChat
from rxagent.models._openai_embeddings import OpenAIEmbeddings
from rxagent.models._openai_responses import OpenAIResponses
from rxagent.models._provider import Provider
from rxagent.models._providers import PROVIDERS
from rxagent.models._vendor import Vendor
from rxagent.models._vendors import VENDORS

__all__ = [
    "PROVIDERS",
    "VENDORS",
    "AnthropicChat",
    "Fallback",
    "GeminiChat",
    "GeminiEmbeddings",
    "LocalChat",
    "LocalEmbeddings",
    "OllamaChat",
    "OllamaEmbeddings",
    "OpenAIChat",
    "OpenAIEmbeddings",
    "OpenAIResponses",
    "Provider",
    "Vendor",
    "model",
]
