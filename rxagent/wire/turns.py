"""A conversation as servers want it: instructions apart, results behind their calls."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

__all__ = ["Turn", "in_turns", "instructions"]

Turn: TypeAlias = UserMessage | AssistantMessage | ToolMessage


def instructions(messages: Iterable[Message]) -> str:
    """Return the text of all system messages, wherever they stand."""
    texts = (each.text for each in messages if isinstance(each, SystemMessage))
    return "\n\n".join(filter(None, texts))


def in_turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """Put each result directly behind the message that asks for it.

    Args:
        messages: Results may stand anywhere; several of one id are taken in order.

    Yields:
        Everything but system messages; results in the order of their calls.

    Raises:
        RequestError: If a call has no result, or a result no call.
    """
    messages = tuple(messages)
    results: defaultdict[str, deque[ToolMessage]] = defaultdict(deque)
    for message in messages:
        if isinstance(message, ToolMessage):
            results[message.tool_call_id].append(message)
    for message in messages:
        if isinstance(message, UserMessage):
            yield message
        elif isinstance(message, AssistantMessage):
            yield message
            for call in message.tool_calls:
                if not results[call.id]:
                    raise RequestError(
                        f"the call {call.id!r} of tool {call.name!r} has no "
                        "result; a model refuses a history with open calls"
                    )
                yield results[call.id].popleft()
    for waiting in results.values():
        if waiting:
            raise RequestError(
                f"the result of tool {waiting[0].name!r} answers the call "
                f"{waiting[0].tool_call_id!r}, which is not in the messages"
            )
