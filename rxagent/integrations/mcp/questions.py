"""What an MCP server asks back in the middle of a call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from mcp import types
from mcp.client import ClientRequestContext
from reactivex import Observable

from rxagent.errors import RequestError
from rxagent.integrations.mcp.content import part_of
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    UserMessage,
    UserPart,
)
from rxagent.operators import just, responses
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow, iterate
from rxagent.types import Exchange

__all__ = ["Answerer", "McpQuestion", "Questions"]

_log = logging.getLogger(__name__)

_STOP_REASONS = {"stop": "endTurn", "length": "maxTokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpQuestion:
    """Something that a server has to know from the user.

    Args:
        server: Who asks.
        message: What it asks.
        schema: JSON Schema of the answer, an object of plain values; ``None`` if the
            user is to open a page.
        url: Of that page.
    """

    server: str
    message: str
    schema: JsonSchema | None = None
    url: str | None = None


Answerer: TypeAlias = Callable[[McpQuestion], Observable[Mapping[str, object] | None]]
"""Answers a question: the first item counts.

A mapping that fits the schema accepts (``{}`` for a page), ``None`` declines, and to
complete without an item is to leave the question open.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Who answers what a server asks.

    Args:
        server: Its name.
        ask: Answers questions to the user.
        model: Answers questions to a model.
    """

    server: str
    ask: Answerer | None = None
    model: Exchange | None = None

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the user."""
        assert self.ask is not None
        question = McpQuestion(server=self.server, message=params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            question = replace(question, url=params.url)
        else:
            question = replace(question, schema=params.requested_schema)
        try:
            async with aclosing(iterate(self.ask(question))) as answers:
                async for answer in answers:
                    return _answered(question, answer)
            return types.ElicitResult(action="cancel")
        except Exception:  # noqa: BLE001 - logged, and told to the server
            return self._unanswered("the user cannot be asked")

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the model."""
        assert self.model is not None
        try:
            answer = just(_request(params)).pipe(self.model, responses())
            response = await Flow[ChatResponse].of(answer)
        except Exception:  # noqa: BLE001 - logged, and told to the server
            return self._unanswered("the model did not answer")
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=response.text),
            model=response.model or "unknown",
            stop_reason=_STOP_REASONS.get(response.finish_reason),
        )

    def _unanswered(self, problem: str) -> types.ErrorData:
        # What happened here is none of the server's business.
        _log.exception("MCP server %r asked, and %s", self.server, problem)
        return types.ErrorData(code=types.INTERNAL_ERROR, message=problem)


def _answered(
    question: McpQuestion, answer: Mapping[str, object] | None
) -> types.ElicitResult:
    if answer is None:
        return types.ElicitResult(action="decline")
    if question.url is not None:
        return types.ElicitResult(action="accept")
    return types.ElicitResult.model_validate({"action": "accept", "content": answer})


def _request(params: types.CreateMessageRequestParams) -> ChatRequest:
    return ChatRequest(
        messages=tuple(_messages(params)),
        options=ChatOptions(
            max_tokens=params.max_tokens,
            temperature=params.temperature,
            stop=tuple(params.stop_sequences) if params.stop_sequences else None,
        ),
    )


def _messages(params: types.CreateMessageRequestParams) -> Iterator[Message]:
    if params.system_prompt:
        yield SystemMessage.of(params.system_prompt)
    for message in params.messages:
        parts = [*map(_part, message.content_as_list)]
        if message.role == "user":
            yield UserMessage.of(*parts)
        else:
            yield AssistantMessage.of(*(part for part in parts if _is_text(part)))


def _part(block: types.SamplingMessageContentBlock) -> UserPart:
    match block:
        case types.TextContent() | types.ImageContent() | types.AudioContent():
            return part_of(block)
        case _:
            raise RequestError(f"a server cannot sample with {block.type} content")


def _is_text(part: UserPart) -> TypeGuard[Text]:
    if not isinstance(part, Text):
        raise RequestError(f"a model did not say {part.type}")
    return True
