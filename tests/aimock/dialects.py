"""Every dialect that aimock speaks, by the model that speaks it too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rxagent.models import (
    AnthropicChat,
    GeminiChat,
    OllamaChat,
    OpenAIChat,
    OpenAIResponses,
)
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.types import Exchange

__all__ = [
    "CHAT_COMPLETIONS",
    "DIALECTS",
    "Dialect",
    "by_dialect",
    "by_dialect_but",
    "by_stream",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One of them.

    Args:
        make: The class of the model.
        model: A name that aimock takes for one of a model that thinks.
        path: Behind the address of the server.
    """

    make: Callable[..., Exchange]
    model: str
    path: str = ""

    def at(
        self,
        url: str,
        *,
        timeouts: Timeouts = Timeouts(gap_s=30.0),
        retry: RetryPolicy = RetryPolicy(max_retries=0),
    ) -> Exchange:
        """Return a model behind the server at ``url``."""
        return self.make(
            model=self.model,
            base_url=url + self.path,
            api_key="very-secret",
            timeouts=timeouts,
            retry=retry,
        )


# The first three are one format with three addresses, and more in its answers.
CHAT_COMPLETIONS = ("openai", "openrouter", "azure")
DIALECTS = {
    "openai": Dialect(make=OpenAIChat, model="gpt-5", path="/v1"),
    "openrouter": Dialect(make=OpenAIChat, model="openai/gpt-5", path="/api/v1"),
    "azure": Dialect(make=OpenAIChat, model="gpt-5", path="/openai/deployments/gpt-5"),
    "responses": Dialect(make=OpenAIResponses, model="gpt-5", path="/v1"),
    "anthropic": Dialect(make=AnthropicChat, model="claude-sonnet-4-5"),
    "gemini": Dialect(make=GeminiChat, model="gemini-2.5-flash"),
    "ollama": Dialect(make=OllamaChat, model="qwen3"),
}


def by_dialect_but(*names: str) -> pytest.MarkDecorator:
    """Parametrize by all dialects but these."""
    rest = [dialect for dialect in DIALECTS if dialect not in names]
    return pytest.mark.parametrize("dialect", rest)


by_dialect = by_dialect_but()
by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
