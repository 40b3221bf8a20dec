from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors._memory_section import MEMORY_NOTE, entry, with_section
from rxagent.advisors._stored_at_end import stored_at_end
from rxagent.advisors._turn_record import TurnRecord
from rxagent.advisors._unmasked import check_unmasked
from rxagent.chain import around
from rxagent.choices import check_callable, check_has
from rxagent.context import Key
from rxagent.events import ChatEvent, Finished
from rxagent.memory.conversation_id import (
    CONVERSATION_ID,
    check_key,
    conversation_id_of,
)
from rxagent.memory.vectors import VectorEntry, VectorIndex, VectorMatch
from rxagent.messages import Message, UserMessage
from rxagent.named import Order, named
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.tools.rules import check_count
from rxagent.types import Advisor, Embedder, Exchange, Operator

_Vector: TypeAlias = tuple[float, ...]

MEMORY_TOP_K = Key("chat_memory_vector_store_top_k", int)
"""How many entries one turn recalls, whatever the advisor says."""


def vector_memory(
    index: VectorIndex,
    embedder: Embedder,
    *,
    top_k: int = 20,
    everywhere: bool = False,
    note: str = MEMORY_NOTE,
    key: Key[Any] = CONVERSATION_ID,
) -> Advisor:
    """Recall what was said before and means much the same; remember each turn.

    ::

        --q-----------|
        [ vector_memory(index, ...) ]     found in 2; the rest answers with --a--F|,
        ------a----F--|                   which takes 2 to be remembered

    What is closest to the question stands behind the instructions, the closest first,
    each an XML element in a section that the model is asked to take for a record.  That
    is a request to the model and no guarantee.  What the prompt holds is not recalled.

    At the end of a turn its question and its answer are indexed, before `Finished` is
    told: words alone, of users and of assistants.  A turn that fails or is left is not,
    nor one that was blocked or pauses, nor what was retracted.

    It remembers no conversation as a whole; `memory` does, and both may stand in a
    list.  Place it left of the tool loop: on its right it looks things up each round.

    Args:
        index: Where the vectors are; see `VectorIndex` and `MemoryIndex`.
        embedder: Makes them; the same one as long as the index lives.
        top_k: How many entries are recalled at most.  The context of a call may say
            otherwise, under ``"chat_memory_vector_store_top_k"``; 0 recalls nothing.
        everywhere: Recall from all conversations, whoever had them.
        note: What the model is told of the section.
        key: Where the context holds the id of the conversation.

    Returns:
        An advisor.  Without an id the error is a `MissingContextError`.  If embedding,
        looking up or indexing fails, that is the error.  Disposing stops all three.

    Raises:
        ConfigurationError: If ``top_k`` is less than 0, ``index`` is no index,
            ``embedder`` no function or ``key`` no key.
    """
    check_has("index", index, "search", such_as="an index, such as MemoryIndex()")
    check_key(key)
    check_count("top_k", top_k, least=0)
    check_callable("embedder", embedder)

    def embedded(text: str) -> Observable[_Vector]:
        return embedder([text]).pipe(ops.map(_the_only_one))

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        check_unmasked("vector_memory", request)
        conversation = conversation_id_of(request.context, key)
        limit = request.context.get(MEMORY_TOP_K)
        limit = top_k if limit is None else limit
        check_count(MEMORY_TOP_K.name, limit, least=0)
        question = _question(request)
        if question is None:
            return just(request).pipe(inner)

        def recalled(vector: _Vector) -> Observable[ChatEvent]:
            def go_on(matches: Sequence[VectorMatch]) -> Observable[ChatEvent]:
                asked = with_section(request, _entries(matches, request), note)
                return just(asked).pipe(inner, remembering(vector))

            if not limit:
                return go_on(())
            where = None if everywhere else conversation
            found = index.search(vector, limit=limit, conversation=where)
            return found.pipe(concat_each(go_on))

        def remembering(vector: _Vector) -> Operator[ChatEvent, ChatEvent]:
            def write(messages: Sequence[Message]) -> Observable[int]:
                asked, said = messages

                def add(vector_of_answer: _Vector) -> Observable[int]:
                    return index.add(
                        [
                            _entry(conversation, asked, vector),
                            _entry(conversation, said, vector_of_answer),
                        ]
                    )

                return embedded(said.text).pipe(concat_each(add))

            # It keeps the question and the words of the answer, or nothing.
            record = TurnRecord([question], keep="answer", on_failure="discard")
            return stored_at_end(
                record, write=write, told=_as_it_is, failure=request.failure
            )

        return embedded(question.text).pipe(concat_each(recalled))

    return named(
        "vector_memory",
        around(handle),
        settings=f"top_k={top_k}, everywhere={everywhere}",
        order=Order.MEMORY,
    )


def _question(request: ChatRequest) -> UserMessage | None:
    """What the turn is about, if it is text."""
    users = [each for each in request.messages if isinstance(each, UserMessage)]
    return users[-1] if users and users[-1].text.strip() else None


def _entries(matches: Sequence[VectorMatch], request: ChatRequest) -> list[str]:
    known = {message.id for message in request.messages}
    found = [match.entry for match in matches if match.entry.id not in known]
    return [entry(each.role, each.text) for each in found]


def _entry(conversation: str, message: Message, vector: _Vector) -> VectorEntry:
    return VectorEntry(
        id=message.id,
        conversation=conversation,
        role="user" if isinstance(message, UserMessage) else "assistant",
        text=message.text,
        vector=vector,
    )


def _the_only_one(vectors: Sequence[_Vector]) -> _Vector:
    [vector] = vectors
    return vector


def _as_it_is(event: Finished) -> Finished:
    return event
