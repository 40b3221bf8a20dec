"""What an agent may be given: prompts, options, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from rxagent.errors import ConfigurationError, RequestError
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatOptions, ChatRequest

__all__ = ["Prompt", "asked", "given", "listed"]

T = TypeVar("T")

Prompt: TypeAlias = str | UserMessage | Sequence[Message] | ChatRequest
"""What may be asked: a text, a message, a conversation, or a whole request."""


_MESSAGES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)


def asked(prompt: Prompt) -> ChatRequest:
    """Return ``prompt`` as a request.

    Raises:
        RequestError: If there is nothing to answer in it.
    """
    match prompt:
        case ChatRequest():
            request = prompt
        case str():
            request = ChatRequest(messages=(UserMessage.of(prompt),))
        case UserMessage():
            request = ChatRequest(messages=(prompt,))
        case list() | tuple() if all(isinstance(m, _MESSAGES) for m in prompt):
            request = ChatRequest(messages=tuple(prompt))
        case _:
            raise RequestError(
                f"{prompt!r} is no prompt; pass a text, a UserMessage, a list of "
                "messages, or a ChatRequest"
            )
    if not any(map(_says_something, request.messages)):
        raise RequestError(
            "the prompt is empty; pass a text, or a message with at least one part"
        )
    return request


def _says_something(message: Message) -> bool:
    return any(
        not isinstance(part, Text) or part.text.strip() for part in message.content
    )


def listed(name: str, items: Iterable[T]) -> tuple[T, ...]:
    """Return ``items`` as a tuple.

    Raises:
        ConfigurationError: If they are no list.
    """
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ConfigurationError(f"{name} takes a list, not {items!r}")
    return tuple(items)


def given(options: ChatOptions | None) -> ChatOptions:
    """Return ``options``, or none.

    Raises:
        ConfigurationError: If they are something else.
    """
    if options is None:
        return ChatOptions()
    if not isinstance(options, ChatOptions):
        raise ConfigurationError(f"options takes ChatOptions(...), not {options!r}")
    return options
