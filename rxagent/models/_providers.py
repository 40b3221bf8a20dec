"""Who can stand before the colon of a model's name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from rxagent.models._anthropic_chat import AnthropicChat
from rxagent.models._gemini_chat import GeminiChat
from rxagent.models._ollama_chat import OllamaChat
from rxagent.models._openai_chat import OpenAIChat
from rxagent.models._openai_responses import OpenAIResponses
from rxagent.models._provider import Provider
from rxagent.models._vendor import Vendor
from rxagent.models._vendors import VENDORS

__all__ = ["PROVIDERS"]


def _chat(vendor: Vendor) -> Provider:
    return Provider(
        make=partial(OpenAIChat, vendor=vendor),
        key_variables=vendor.key_variables,
        base_url_variable=vendor.base_url_variable,
    )


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        **{name: _chat(vendor) for name, vendor in VENDORS.items()},
        # Without a vendor: its address may be that of any server.
        "openai": Provider(
            make=OpenAIChat,
            key_variables=("OPENAI_API_KEY",),
            base_url_variable="OPENAI_BASE_URL",
        ),
        "anthropic": Provider(
            make=AnthropicChat,
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            base_url_variable="ANTHROPIC_BASE_URL",
        ),
        "gemini": Provider(
            make=GeminiChat,
            key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            base_url_variable="GOOGLE_GEMINI_BASE_URL",
        ),
        "ollama": Provider(
            make=OllamaChat,
            key_variables=("OLLAMA_API_KEY",),
            base_url_variable="OLLAMA_HOST",
            has_scheme=False,
        ),
        "openai-responses": Provider(
            make=OpenAIResponses,
            key_variables=("OPENAI_API_KEY",),
            base_url_variable="OPENAI_BASE_URL",
        ),
    }
)
"""Providers by name; a model that speaks a format of its own has its line here."""
