from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rxagent.advisors._memory import memory
from rxagent.advisors._memory_section import MEMORY_NOTE, entries_of, with_section
from rxagent.advisors._turn_record import Keep, OnFailure
from rxagent.chain import before
from rxagent.context import Key
from rxagent.memory.conversation_id import CONVERSATION_ID
from rxagent.memory.store import ConversationStore
from rxagent.memory.windows import Window
from rxagent.messages import Message, SystemMessage, UserMessage
from rxagent.named import Named, Order, named
from rxagent.requests import ChatRequest
from rxagent.types import Advisor, Exchange


@dataclass(frozen=True, slots=True)
class _Asked:
    """The ids of what was asked, but for the last: memory may give that a new one."""

    ids: frozenset[str]


_ASKED = Key("rxagent.asked", _Asked)


def prompt_memory(
    store: ConversationStore,
    *,
    window: Window | None = None,
    keep: Keep = "transcript",
    on_failure: OnFailure = "discard",
    note: str = MEMORY_NOTE,
    key: Key[Any] = CONVERSATION_ID,
) -> Advisor:
    """Remember a conversation, and tell the model of it in the system text.

    ::

        --q-----------|
        [ prompt_memory(store) ]          the rest answers with --a--b--F|
        ----a--b--F---|

    For models that take no history.  It is `memory` in all, but that the history
    stands behind the instructions: the words of users and assistants, each an XML
    element, in a section that the model is asked to take for a record.  That is a
    request to the model and no guarantee.  Calls, results and media are left out.

    Args:
        store: Where conversations are kept.
        window: How much of history and prompt a model sees; by default all.
        keep: As of `memory`.
        on_failure: As of `memory`.
        note: What the model is told of the section.
        key: Where the context holds the id of the conversation.

    Returns:
        An advisor.  Errors and what happens to a turn that is left are as of `memory`.

    Raises:
        ConfigurationError: As of `memory`.
    """
    remember = memory(store, window=window, keep=keep, on_failure=on_failure, key=key)

    def remember_what_is_asked(request: ChatRequest) -> ChatRequest:
        before = request.messages[: _question_place(request)]
        asked = _Asked(frozenset(each.id for each in before))
        return replace(request, context=request.context.set(_ASKED, asked))

    def tell(request: ChatRequest) -> ChatRequest:
        asked = request.context[_ASKED].ids
        place = _question_place(request)
        kept, history = list[Message](), list[Message]()
        for message in request.messages[:place]:
            stays = isinstance(message, SystemMessage) or message.id in asked
            (kept if stays else history).append(message)
        plain = replace(
            request,
            messages=(*kept, *request.messages[place:]),
            context=request.context.without(_ASKED),
        )
        return with_section(plain, entries_of(history), note)

    def advise(inner: Exchange) -> Exchange:
        return before(remember_what_is_asked)(remember(before(tell)(inner)))

    settings = remember.settings if isinstance(remember, Named) else ""
    return named("prompt_memory", advise, settings=settings, order=Order.MEMORY)


def _question_place(request: ChatRequest) -> int:
    """Where the turn begins that is open."""
    users = (isinstance(each, UserMessage) for each in request.messages)
    return max((n for n, is_user in enumerate(users) if is_user), default=0)
