from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reactivex import Observable

from rxagent.advisors._hand_over import HAND_OVER, HandOver
from rxagent.advisors._resumption import RESUME
from rxagent.advisors._stored_at_end import stored_at_end
from rxagent.advisors._turn_record import Keep, OnFailure, TurnRecord
from rxagent.advisors._unmasked import check_unmasked
from rxagent.chain import around
from rxagent.choices import check_callable, check_choice
from rxagent.context import Key
from rxagent.events import ChatEvent, Finished
from rxagent.memory.conversation import Conversation
from rxagent.memory.conversation_id import (
    CONVERSATION_ID,
    check_key,
    conversation_id_of,
)
from rxagent.memory.recall import recall
from rxagent.memory.store import ConversationStore, check_store
from rxagent.memory.windows import Window
from rxagent.memory.writing import append_turn
from rxagent.messages import Message, UserMessage
from rxagent.named import Order, named
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, Exchange


def memory(
    store: ConversationStore,
    *,
    window: Window | None = None,
    keep: Keep = "transcript",
    on_failure: OnFailure = "discard",
    key: Key[Any] = CONVERSATION_ID,
) -> Advisor:
    """Remember a conversation: put its history in front, and store each turn.

    ::

        --q-----------|
        [ memory(store) ]                 the rest answers with --a--b--F|
        ----a--b--F---|

    The conversation is loaded once, at the start, and the turn is written once, at its
    end, in one piece: the last message of the user, and all that the turn added.  What
    the prompt holds already is not put in front of it again.  What a broken turn left
    behind is mended for the model, and never in the store; see `rxagent.memory.heal`.

    Outside the tool loop it stores a turn at a time.  Inside, each round: a turn that
    breaks off keeps the rounds that it had, with their results.

    Turns that run at once on one conversation lose nothing.  Each is written behind
    what is there when it ends, so they stand in the order of their ends.

    Args:
        store: Where conversations are kept.
        window: How much of history and prompt a model sees; by default all.
        keep: ``"transcript"`` stores the calls and results of tools too; ``"answer"``
            the question and the words of the answer alone, and nothing of a turn that
            has no answer.
        on_failure: Of a turn that fails or is left, ``"discard"`` stores nothing.
            ``"mark"`` stores the question and what there was, marked as interrupted,
            if there was anything.  ``"keep_user"`` stores the question.
        key: Where the context holds the id of the conversation: of any type; its text
            is the id in the store.

    Returns:
        An advisor.  A blocked turn is not stored, nor what was retracted, nor what a
        guard has stopped, unless that stands left of it and decides at the end.
        Without an id the error is a `MissingContextError`, and right of `pii` it is an
        `AdvisorError`.  If loading fails, that is the error; if storing does, too, in
        place of `Finished`.  A turn that is left is stored in the background, as
        ``on_failure`` says; if that fails it is logged.

    Raises:
        ConfigurationError: If a word is wrong, ``store`` is no store, ``window`` no
            function or ``key`` no key.
    """
    check_store(store)
    check_key(key)
    check_choice("keep", keep, Keep)
    check_choice("on_failure", on_failure, OnFailure)
    check_callable("window", window)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def turn(conversation: Conversation) -> Observable[ChatEvent]:
            asked = request if resumes else _asked(request, conversation.messages)
            prompt = asked.messages
            if resumes:  # what came after its question is in the transcript to come
                prompt = tuple(m for m in prompt if isinstance(m, UserMessage))
            record = TurnRecord(
                prompt, keep=keep, on_failure=on_failure, in_loop=request.in_loop
            )

            def write(messages: Sequence[Message]) -> Observable[int]:
                return append_turn(store, conversation, messages)

            def keep_end(response: ChatResponse) -> Observable[ChatEvent]:
                return write(record.ended(response)).pipe(concat_each(_nothing))

            def told(event: Finished) -> Finished:
                response = event.response
                context = response.context | {key.name: request.context[key.name]}
                if request.in_loop and _may_go_on(response):
                    context = context.set(HAND_OVER, HandOver(keep_end))
                return replace(event, response=replace(response, context=context))

            messages = asked.messages
            if not resumes:  # a paused turn brings its history along
                messages = recall(conversation.messages, messages, window=window)
            return just(replace(asked, messages=messages)).pipe(
                inner,
                stored_at_end(record, write=write, told=told, failure=request.failure),
            )

        check_unmasked("memory", request)
        resumes = RESUME in request.context
        loaded = store.load(conversation_id_of(request.context, key))
        return loaded.pipe(concat_each(turn))

    shown = getattr(window, "__qualname__", repr(window))
    settings = f"window={shown}, keep={keep!r}, on_failure={on_failure!r}"
    return named("memory", around(handle), settings=settings, order=Order.MEMORY)


def _asked(request: ChatRequest, stored: Sequence[Message]) -> ChatRequest:
    """The request, with a question of its own if another turn has asked the same.

    A flow may be subscribed to twice, and asks the same message then.
    """
    messages = request.messages
    users = [n for n, each in enumerate(messages) if isinstance(each, UserMessage)]
    if not users:
        return request
    question, following = messages[users[-1]], messages[users[-1] + 1 :]
    own = _stored_for(question, following, stored)
    return replace(request, messages=(*messages[: users[-1]], own, *following))


def _stored_for(
    question: Message, following: Sequence[Message], stored: Sequence[Message]
) -> Message:
    """A question under the id that it has, or will have, for its turn alone."""
    places = {each.id: place for place, each in enumerate(stored)}
    place = places.get(following[0].id, 0) if following else 0
    if place:  # a later round of a loop, whose first was stored behind its question
        return stored[place - 1] if stored[place - 1] == question else question
    if places.get(question.id, len(stored)) < len(stored) - 1:  # it was answered
        assert isinstance(question, UserMessage)
        return UserMessage(content=question.content, mark=question.mark)
    return question


def _may_go_on(response: ChatResponse) -> bool:
    """Whether a tool loop outside of the memory may run the calls of an answer."""
    ends = ("paused", "return_direct", "tool_limit")  # which only a loop has
    return bool(response.tool_calls) and response.finish_reason not in ends


def _nothing(_: int) -> Observable[ChatEvent]:
    return just()
