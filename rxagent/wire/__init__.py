"""Bytes and JSON in, events out: no network, no streams, no clock.

A dialect is a vendor's format.  It encodes a request, makes a decoder for an answer (a
transducer: ``feed`` and ``flush``), and types the error of a response.  Everything here
takes its input however it is cut, in linear time.
"""

import importlib
from typing import TYPE_CHECKING

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
    # A program speaks one dialect or two, and each takes its time to import.
    _DIALECTS = {
        "AnthropicDialect": "anthropic",
        "GeminiDialect": "gemini",
        "GeminiEmbeddingsDialect": "gemini_embeddings",
        "OllamaDialect": "ollama",
        "OllamaEmbeddingsDialect": "ollama",
        "OpenAIChatDialect": "openai_chat",
        "OpenAIEmbeddingsDialect": "openai_embeddings",
        "OpenAIResponsesDialect": "openai_responses",
    }

    def __getattr__(name: str) -> object:
        if name not in _DIALECTS:
            raise AttributeError(f"module 'rxagent.wire' has no attribute {name!r}")
        return getattr(importlib.import_module(f"rxagent.wire.{_DIALECTS[name]}"), name)
