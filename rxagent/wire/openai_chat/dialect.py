"""The dialect of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from rxagent.choices import check_choice
from rxagent.errors import ModelError
from rxagent.requests import ChatRequest
from rxagent.wire.openai_chat.chunks import ChunkReader
from rxagent.wire.openai_chat.messages import (
    MessageStyle,
    ReasoningMember,
    SendReasoning,
)
from rxagent.wire.openai_chat.request import RequestEncoder
from rxagent.wire.openai_chat.response import OpenAIChatDecoder
from rxagent.wire.provider_errors import error_of_response
from rxagent.wire.think_tags import ThinkTagSplitter
from rxagent.wire.usage import UsageMeter, UsageMode

__all__ = ["OpenAIChatDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIChatDialect:
    """Chat completions, and the ways in which servers differ.

    Args:
        name: Of the provider: stands in errors, and marks parts that only it reads.
        send_reasoning: On which assistant messages reasoning goes back to the provider.
        reasoning_member: Where: in the member ``"reasoning_content"`` or
            ``"reasoning"``, or in parts of the content (``"thinking"``).  Read are all.
        short_call_ids: Whether ids of calls must be nine letters or digits; others are
            sent as a hash of theirs.
        names: The server's own names of members, by OpenAI's, such as ``random_seed``
            for ``seed``.
        refused: Members, by OpenAI's names, that the server refuses or does not heed;
            an option that asks for one is an error.
        strict_schemas: Whether an answer is held to a schema strictly, where the schema
            can be said so; see `rxagent.wire.strict_schema`.
        asks_for_usage: Whether a stream is asked to count tokens.
        think_tags: Whether ``<think>`` in the text of an answer marks reasoning.
        starts_in_thinking: Whether the server's template has opened the first block
            already, so that only ``</think>`` comes.
        usage: What the token counts of several chunks mean; ``"auto"`` finds out.

    Raises:
        ConfigurationError: If one of these is a word that it cannot be.

    Source: https://platform.openai.com/docs/api-reference/chat
    """

    name: str = "openai"
    send_reasoning: SendReasoning = "never"
    reasoning_member: ReasoningMember = "reasoning_content"
    short_call_ids: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: Set[str] = frozenset()
    strict_schemas: bool = False
    asks_for_usage: bool = True
    think_tags: bool = False
    starts_in_thinking: bool = False
    usage: UsageMode = "auto"

    def __post_init__(self) -> None:
        check_choice("send_reasoning", self.send_reasoning, SendReasoning)
        check_choice("reasoning_member", self.reasoning_member, ReasoningMember)
        check_choice("usage", self.usage, UsageMode)

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        encoder = RequestEncoder(
            style=MessageStyle(
                dialect=self.name,
                send_reasoning=self.send_reasoning,
                reasoning_member=self.reasoning_member,
                short_call_ids=self.short_call_ids,
            ),
            asks_for_usage=self.asks_for_usage,
            strict_schemas=self.strict_schemas,
            names=self.names,
            refused=self.refused,
        )
        return encoder.body(request, model=model, stream=stream)

    def decoder(self, request: ChatRequest, *, content_type: str) -> OpenAIChatDecoder:
        """Return what makes events of the body of a successful response.

        Args:
            request: What was asked; its origin and context are handed on.
            content_type: Of the response.
        """
        think_tags = None
        if self.think_tags:
            think_tags = ThinkTagSplitter(starts_in_thinking=self.starts_in_thinking)
        reader = ChunkReader(
            request,
            provider=self.name,
            think_tags=think_tags,
            meter=UsageMeter(self.usage),
        )
        return OpenAIChatDecoder(
            reader, provider=self.name, content_type=content_type.lower()
        )

    def error(
        self, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime
    ) -> ModelError:
        """Return the error that an unsuccessful response reports.

        Args:
            status: 400 or more.
            headers: Of the response.
            body: All of it.
            now: The present, for a date in ``Retry-After``.
        """
        return error_of_response(self.name, status, headers, body, now=now)
