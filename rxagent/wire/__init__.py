"""Bytes and JSON in, events out: no network, no streams, no clock.

A dialect is a vendor's format.  It encodes a request, makes a decoder for an answer (a
transducer: ``feed`` and ``flush``), and types the error of a response.  Everything here
takes its input however it is cut, in linear time.
"""

from typing import TYPE_CHECKING

from rxagent.lazily import lazily
from rxagent.wire.arguments import parse_arguments
from rxagent.wire.extract import extract_json
from rxagent.wire.ndjson import NdjsonDecoder
from rxagent.wire.retry_after import retry_after_s
from rxagent.wire.sse import SseDecoder, SseEvent
from rxagent.wire.usage import UsageMeter, UsageMode, UsageReport

if TYPE_CHECKING:
    from rxagent.wire.anthropic import AnthropicDialect
    from rxagent.wire.gemini import GeminiDialect
    from rxagent.wire.gemini_embeddings import GeminiEmbeddingsDialect
    from rxagent.wire.ollama import OllamaDialect, OllamaEmbeddingsDialect
    from rxagent.wire.openai_chat import OpenAIChatDialect
    from rxagent.wire.openai_embeddings import OpenAIEmbeddingsDialect
    from rxagent.wire.openai_responses import OpenAIResponsesDialect

__all__ = [
    "AnthropicDialect",
    "GeminiDialect",
    "GeminiEmbeddingsDialect",
    "NdjsonDecoder",
    "OllamaDialect",
    "OllamaEmbeddingsDialect",
    "OpenAIChatDialect",
    "OpenAIEmbeddingsDialect",
    "OpenAIResponsesDialect",
    "SseDecoder",
    "SseEvent",
    "UsageMeter",
    "UsageMode",
    "UsageReport",
    "extract_json",
    "parse_arguments",
    "retry_after_s",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "anthropic": ["AnthropicDialect"],
            "gemini": ["GeminiDialect"],
            "gemini_embeddings": ["GeminiEmbeddingsDialect"],
            "ollama": ["OllamaDialect", "OllamaEmbeddingsDialect"],
            "openai_chat": ["OpenAIChatDialect"],
            "openai_embeddings": ["OpenAIEmbeddingsDialect"],
            "openai_responses": ["OpenAIResponsesDialect"],
        },
    )
