"""Tool calls and results as plain messages, for models that know neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)

__all__ = ["as_text", "plain_history"]


def plain_history(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return ``messages`` with calls and results in words.

    Args:
        messages: Oldest first.

    Returns:
        A call is something that the assistant says, the results of a round are one
        message of the user.  Other messages are those that came.
    """
    return tuple(_plain(messages))


def as_text(messages: Sequence[Message]) -> str:
    """Return a conversation as lines of text, instructions left out."""
    return "\n".join(
        f"{message.role.capitalize()}: {message.text}"
        for message in _plain(messages)
        if not isinstance(message, SystemMessage)
    )


def _plain(messages: Iterable[Message]) -> Iterator[Message]:
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if results:
            yield _told(results)
            results = []
        if isinstance(message, AssistantMessage) and message.tool_calls:
            yield _said(message)
        else:
            yield message
    if results:
        yield _told(results)


def _said(message: AssistantMessage) -> AssistantMessage:
    calls = [_in_words(call) for call in message.tool_calls]
    text = "\n".join([*([message.text] if message.text else []), *calls])
    return AssistantMessage(content=(Text(text=text),), id=message.id)


def _in_words(call: ToolCall) -> str:
    return f"I call {call.name}({call.arguments})."


def _told(results: Sequence[ToolMessage]) -> UserMessage:
    parts: list[UserPart] = []
    for result in results:
        verb = "failed" if result.is_error else "returned"
        start = "\n" if parts else ""
        parts += (Text(text=f"{start}{result.name} {verb}: "), *result.content)
    return UserMessage(content=tuple(parts), id=results[0].id)
