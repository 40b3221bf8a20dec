"""Histories that broke off, made into ones that every provider accepts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rxagent.messages import (
    AssistantMessage,
    Mark,
    Message,
    Reasoning,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)

__all__ = ["heal"]

_NO_RESULT = "interrupted: the call has no result, and it may have run or not"
_NO_ANSWER = "(The turn was interrupted before this was answered.)"
_TAKEN = "(I go on from there.)"


def heal(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Mend a history, so that a user's message may follow it.

    Nothing is mended in a store: what a process left behind when it died is read as it
    is, and healed each time.  What is put in has the same id each time, made of the id
    of what it answers.  A history that needs nothing comes back as it is.

    Args:
        messages: Oldest first, of turns that have ended in any way.

    Returns:
        The newest instructions first, and no others.  Each result stands behind its
        call; a call without one gets an error that says so, a result without a call is
        dropped.  Empty messages are dropped, and answers before the first question.  A
        question without an answer gets one that says so, and a summary one that takes
        it as read: two messages of the user in a row are refused by strict servers.
    """
    system: SystemMessage | None = None
    healed: list[Message] = []
    open_calls: dict[str, deque[int]] = {}  # places for results, by the id of a call
    for message in messages:
        match message:
            case SystemMessage():
                system = message
            case ToolMessage():
                places = open_calls.get(message.tool_call_id)
                if places:
                    healed[places.popleft()] = message
            case AssistantMessage() if healed and _says_something(message):
                healed.append(message)
                _add_results(message, healed, open_calls)
            case UserMessage() if _says_something(message):
                _answer_last(healed)
                healed.append(message)
            case _:
                pass
    _answer_last(healed)
    return (*([system] if system else []), *healed)


def _add_results(
    message: AssistantMessage, healed: list[Message], open_calls: dict[str, deque[int]]
) -> None:
    """Put an error behind ``message`` for each call, until its result is found."""
    # A provider may use an id again; its result is then the newest call's.
    open_calls.update({call.id: deque() for call in message.tool_calls})
    for number, call in enumerate(message.tool_calls):
        open_calls[call.id].append(len(healed))
        healed.append(_no_result(call, id_=f"{message.id}/{number}"))


def _no_result(call: ToolCall, *, id_: str) -> ToolMessage:
    return ToolMessage(
        id=id_,
        content=(Text(text=_NO_RESULT),),
        tool_call_id=call.id,
        name=call.name,
        is_error=True,
        mark="interrupted",
    )


def _answer_last(healed: list[Message]) -> None:
    last = healed[-1] if healed else None
    if isinstance(last, UserMessage):
        is_summary = last.mark == "summary"
        text = Text(text=_TAKEN if is_summary else _NO_ANSWER)
        mark: Mark = "summary" if is_summary else "interrupted"
        id_ = f"{last.id}/answer"
        healed.append(AssistantMessage(content=(text,), id=id_, mark=mark))


def _says_something(message: UserMessage | AssistantMessage) -> bool:
    """Whether any provider would be sent more than nothing."""
    return any(
        bool(part.text.strip())
        if isinstance(part, Text | Refusal)
        else not isinstance(part, Reasoning)
        for part in message.content
    )
