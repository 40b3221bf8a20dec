from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reactivex import Observable

from rxagent.advisors._memory_section import MEMORY_NOTE, entry, with_section
from rxagent.advisors._stored_at_end import stored_at_end
from rxagent.advisors._turn_record import TurnRecord
from rxagent.advisors._unmasked import check_unmasked
from rxagent.chain import around
from rxagent.choices import check_has
from rxagent.context import Key
from rxagent.events import ChatEvent, Finished
from rxagent.memory.conversation_id import (
    CONVERSATION_ID,
    check_key,
    conversation_id_of,
)
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.named import Order, named
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.retrieval import Document, DocumentIndex, Query
from rxagent.retrieval.once import check_found, one
from rxagent.retrieval.remembered import (
    MESSAGE_ID,
    ROLE,
    everything_said,
    remembered,
    said_in,
)
from rxagent.tools.rules import check_count, check_switch
from rxagent.types import Advisor, Exchange

MEMORY_TOP_K = Key("chat_memory_vector_store_top_k", int)
"""How many entries one turn recalls, whatever the advisor says."""


def vector_memory(
    index: DocumentIndex,
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
        index: Where they are kept and found, such as `SqliteDocuments` in a file, with
            an embedder; without one they are found by their words.  Give it an index of
            its own: whoever searches all of it reads what people have said.
        top_k: How many entries are recalled at most.  The context of a call may say
            otherwise, under ``"chat_memory_vector_store_top_k"``; 0 recalls nothing.
        everywhere: Recall from all conversations, whoever had them.
        note: What the model is told of the section.
        key: Where the context holds the id of the conversation.

    Returns:
        An advisor.  Without an id the error is a `MissingContextError`.  If looking up
        or indexing fails, that is the error.  Disposing stops both.

    Raises:
        ConfigurationError: If ``top_k`` is less than 0, ``index`` is no index or
            ``key`` no key.
    """
    check_has("index", index, "ids", such_as="an index, such as MemoryDocuments(...)")
    check_key(key)
    check_count("top_k", top_k, least=0)
    check_switch("everywhere", everywhere)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        check_unmasked("vector_memory", request)
        conversation = conversation_id_of(request.context, key)
        limit = request.context.get(MEMORY_TOP_K)
        limit = top_k if limit is None else limit
        check_count(MEMORY_TOP_K.name, limit, least=0)
        question = _question(request)
        if question is None:
            return just(request).pipe(inner)

        own = said_in(conversation)

        def go_on(found: Sequence[Document]) -> Observable[ChatEvent]:
            check_found("search of the index", found)
            asked = with_section(request, _entries(found, request), note)
            # It keeps the question and the words of the answer, or nothing.
            record = TurnRecord([question], keep="answer", on_failure="discard")
            remembering = stored_at_end(
                record, write=write, told=_as_it_is, failure=request.failure
            )
            return just(asked).pipe(inner, remembering)

        def write(messages: Sequence[Message]) -> Observable[int]:
            said = [
                remembered(conversation, each)
                for each in messages
                if isinstance(each, UserMessage | AssistantMessage)
            ]
            return one("add of the index", index.add(said))

        if not limit:
            return go_on(())
        where = everything_said() if everywhere else own
        query = Query(text=question.text, top_k=limit, filter=where)
        found = one("search of the index", index.search(query))
        return found.pipe(concat_each(go_on))

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


def _entries(found: Sequence[Document], request: ChatRequest) -> Iterator[str]:
    known = {message.id for message in request.messages}
    for each in found:
        if each.metadata.get(MESSAGE_ID) not in known:
            yield entry(str(each.metadata.get(ROLE)), each.text)


def _as_it_is(event: Finished) -> Finished:
    return event
