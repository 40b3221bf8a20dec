"""Vendors of OpenAI's chat completions: one value each, and where its quirks are told.

Ollama is not among them, since `OllamaChat` speaks its own interface; nor is
Perplexity, which took its chat completions down in September 2026.
Source: https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rxagent.models._vendor import Vendor
from rxagent.wire import OpenAIChatDialect

__all__ = ["VENDORS"]

# What `max_tokens` is called where reasoning counts, too.
_WITH_REASONING = MappingProxyType({"max_tokens": "max_completion_tokens"})

_ALL = (
    # OpenAI's reasoning models refuse max_tokens.
    # Source: https://platform.openai.com/docs/api-reference/chat/create
    Vendor(
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        base_url_variable="OPENAI_BASE_URL",
        key_variables=("OPENAI_API_KEY",),
        dialect=OpenAIChatDialect(
            name="openai", names=_WITH_REASONING, strict_schemas=True
        ),
    ),
    # The v1 API needs no api-version; a model is named by its deployment.
    # Source: https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle
    Vendor(
        title="Azure OpenAI",
        base_url_variable="AZURE_OPENAI_ENDPOINT",
        base_url_path="/openai/v1",
        key_variables=("AZURE_OPENAI_API_KEY",),
        headers=MappingProxyType({"api-key": "{key}"}),
        dialect=OpenAIChatDialect(
            name="azure", names=_WITH_REASONING, strict_schemas=True
        ),
    ),
    # Source: https://inference-docs.cerebras.ai/capabilities/reasoning
    Vendor(
        title="Cerebras",
        base_url="https://api.cerebras.ai/v1",
        base_url_variable="CEREBRAS_BASE_URL",
        base_url_path="/v1",
        key_variables=("CEREBRAS_API_KEY",),
        dialect=OpenAIChatDialect(
            name="cerebras",
            send_reasoning="tool_calls",
            reasoning_member="reasoning",
            names=_WITH_REASONING,
        ),
    ),
    # Alibaba Cloud Model Studio, international.
    # Source: https://help.aliyun.com/en/model-studio/deep-thinking
    Vendor(
        title="Alibaba (DashScope)",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        base_url_variable="DASHSCOPE_BASE_URL",
        key_variables=("DASHSCOPE_API_KEY",),
        dialect=OpenAIChatDialect(name="dashscope"),
    ),
    # All reasoning of a turn with tool calls must come back, or the answer is 400;
    # that of other turns is ignored.  Of formats there is json_object alone.
    # Source: https://api-docs.deepseek.com/guides/thinking_mode and
    # https://api-docs.deepseek.com/api/create-chat-completion
    Vendor(
        title="DeepSeek",
        base_url="https://api.deepseek.com",
        base_url_variable="DEEPSEEK_BASE_URL",
        key_variables=("DEEPSEEK_API_KEY",),
        dialect=OpenAIChatDialect(
            name="deepseek",
            send_reasoning="always",
            refused=frozenset({"parallel_tool_calls", "response_format", "seed"}),
        ),
    ),
    # The server keeps of the reasoning what the model wants (reasoning_history).
    # Source: https://docs.fireworks.ai/guides/reasoning
    Vendor(
        title="Fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        base_url_variable="FIREWORKS_BASE_URL",
        base_url_path="/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        dialect=OpenAIChatDialect(name="fireworks", send_reasoning="always"),
    ),
    # Some models think in the text, between tags, unless tools or JSON are asked for.
    # Source: https://console.groq.com/docs/reasoning
    Vendor(
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        base_url_variable="GROQ_BASE_URL",
        base_url_path="/openai/v1",
        key_variables=("GROQ_API_KEY",),
        dialect=OpenAIChatDialect(
            name="groq",
            send_reasoning="tool_calls",
            reasoning_member="reasoning",
            think_tags=True,
            names=_WITH_REASONING,
        ),
    ),
    # Source: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    # and, for reasoning that comes back, https://github.com/ggml-org/llama.cpp/pull/16934
    Vendor(
        title="llama.cpp",
        base_url="http://localhost:8080/v1",
        base_url_variable="LLAMACPP_BASE_URL",
        key_variables=("LLAMA_API_KEY",),
        needs_key=False,
        dialect=OpenAIChatDialect(name="llamacpp", send_reasoning="tool_calls"),
    ),
    # Source: https://lmstudio.ai/docs/developer/openai-compat
    Vendor(
        title="LM Studio",
        base_url="http://localhost:1234/v1",
        base_url_variable="LMSTUDIO_BASE_URL",
        key_variables=("LM_API_TOKEN",),
        needs_key=False,
        dialect=OpenAIChatDialect(name="lmstudio"),
    ),
    # What is not in its schema is refused, stream_options too; a stream counts anyway.
    # Ids of calls have nine letters or digits.  Thoughts are parts of the content.
    # Source: https://docs.mistral.ai/api/endpoint/chat and
    # https://github.com/mistralai/mistral-vibe/issues/1075
    Vendor(
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        base_url_variable="MISTRAL_BASE_URL",
        key_variables=("MISTRAL_API_KEY",),
        dialect=OpenAIChatDialect(
            name="mistral",
            send_reasoning="always",
            reasoning_member="thinking",
            short_call_ids=True,
            names=MappingProxyType({"seed": "random_seed"}),
            asks_for_usage=False,
        ),
    ),
    # Its models choose what they need of the reasoning; with tool calls it is wanted.
    # Source: https://platform.kimi.ai/docs/api/chat
    Vendor(
        title="Moonshot (Kimi)",
        base_url="https://api.moonshot.ai/v1",
        base_url_variable="MOONSHOT_BASE_URL",
        key_variables=("MOONSHOT_API_KEY",),
        dialect=OpenAIChatDialect(
            name="moonshot", send_reasoning="always", names=_WITH_REASONING
        ),
    ),
    # Source: https://docs.api.nvidia.com/nim/reference/llm-apis
    Vendor(
        title="NVIDIA",
        base_url="https://integrate.api.nvidia.com/v1",
        base_url_variable="NVIDIA_BASE_URL",
        key_variables=("NVIDIA_API_KEY",),
        dialect=OpenAIChatDialect(name="nvidia"),
    ),
    # Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
    Vendor(
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        base_url_variable="OPENROUTER_BASE_URL",
        key_variables=("OPENROUTER_API_KEY",),
        dialect=OpenAIChatDialect(
            name="openrouter", send_reasoning="tool_calls", reasoning_member="reasoning"
        ),
    ),
    # Source: https://docs.together.ai/docs/openai-api-compatibility
    Vendor(
        title="Together",
        base_url="https://api.together.ai/v1",
        base_url_variable="TOGETHER_BASE_URL",
        base_url_path="/v1",
        key_variables=("TOGETHER_API_KEY",),
        dialect=OpenAIChatDialect(name="together"),
    ),
    # Source: https://docs.vllm.ai/en/stable/features/reasoning_outputs/
    Vendor(
        title="vLLM",
        base_url="http://localhost:8000/v1",
        base_url_variable="VLLM_BASE_URL",
        key_variables=("VLLM_API_KEY",),
        needs_key=False,
        dialect=OpenAIChatDialect(
            name="vllm", send_reasoning="tool_calls", reasoning_member="reasoning"
        ),
    ),
    # Source: https://docs.x.ai/docs/api-reference
    Vendor(
        title="xAI",
        base_url="https://api.x.ai/v1",
        base_url_variable="XAI_BASE_URL",
        key_variables=("XAI_API_KEY",),
        dialect=OpenAIChatDialect(name="xai", names=_WITH_REASONING),
    ),
    # Tools may be chosen by the model alone; of formats there is json_object alone.
    # Source: https://docs.z.ai/api-reference/llm/chat-completion and
    # https://docs.z.ai/guides/capabilities/thinking-mode
    Vendor(
        title="Z.ai",
        base_url="https://api.z.ai/api/paas/v4",
        base_url_variable="ZAI_BASE_URL",
        key_variables=("ZAI_API_KEY",),
        dialect=OpenAIChatDialect(
            name="zai",
            send_reasoning="tool_calls",
            refused=frozenset({"response_format", "tool_choice"}),
        ),
    ),
)

VENDORS: Mapping[str, Vendor] = MappingProxyType(
    {vendor.dialect.name: vendor for vendor in _ALL}
)
"""Vendors that are known, by the name that stands before the model's."""
