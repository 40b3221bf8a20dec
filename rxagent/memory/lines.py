"""Whole stores as lines of JSON: to keep a copy, to move, to hand out what is known."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from reactivex import Observable

from rxagent.errors import HistoryError
from rxagent.history import dump_messages, load_messages
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.store import ConversationStore
from rxagent.runtime import Flow, from_async_iterable, iterate

__all__ = ["all_conversations", "export_lines", "import_lines"]

_PAGE = 100
_MEMBERS = {"id", "messages"}


def all_conversations(store: ConversationStore) -> Observable[ConversationInfo]:
    """List every conversation of a store, page by page as they are read.

    Args:
        store: Where they are.

    Returns:
        A cold observable, in the order of ids; it waits while its reader is behind.
        One that is made meanwhile may be missing.
    """

    async def infos() -> AsyncGenerator[ConversationInfo]:
        after: str | None = None
        more = True
        while more:
            pages = iterate(store.conversations(limit=_PAGE, after=after))
            page = [info async for info in pages]
            for info in page:
                yield info
                after = info.id
            more = len(page) == _PAGE

    return from_async_iterable(infos)


def export_lines(store: ConversationStore) -> Observable[str]:
    """Write every conversation as a line of JSON.

    Args:
        store: Where they are.

    Returns:
        A cold observable of lines without their ends, in the order of ids; each is
        ``{"id": ..., "messages": [...]}``.  A conversation is loaded when its line is
        due, so one at a time is in memory, and a slow reader is waited for.  Each is
        whole; of several that are written meanwhile, some may be older than others.
    """

    async def lines() -> AsyncGenerator[str]:
        async with aclosing(iterate(all_conversations(store))) as infos:
            async for info in infos:
                conversation = await Flow[Conversation].of(store.load(info.id))
                if conversation.version:  # else it was deleted meanwhile
                    yield _line(conversation)

    return from_async_iterable(lines)


def import_lines(
    store: ConversationStore, lines: Iterable[str | bytes], *, overwrite: bool = False
) -> Observable[Conversation]:
    """Store what `export_lines` has written.

    Args:
        store: Where the conversations go.
        lines: With or without their ends, as text or UTF-8; empty ones are passed over.
            A file is read line by line, for one subscription.
        overwrite: Whether a conversation that is there already is replaced.

    Returns:
        A cold observable of the conversations, each when it is stored, wholly.  The
        error is a `HistoryError` that names the line if it is no conversation, and a
        `ConflictError` if that is there already.  What came before it stays.
    """

    async def conversations() -> AsyncGenerator[Conversation]:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                read = _read(number, line)
                expected = None if overwrite else 0
                version = await Flow[int].of(
                    store.replace(read.id, read.messages, expected_version=expected)
                )
                yield Conversation(id=read.id, messages=read.messages, version=version)

    return from_async_iterable(conversations)


def _line(conversation: Conversation) -> str:
    name = json.dumps(conversation.id, ensure_ascii=False)
    messages = dump_messages(conversation.messages).decode()
    return f'{{"id":{name},"messages":{messages}}}'


def _read(number: int, line: str | bytes) -> Conversation:
    where = f"line {number}"
    try:
        read = json.loads(line)
    except ValueError as error:
        raise HistoryError(where, f"{error}; was it cut off?") from None
    except RecursionError:
        raise HistoryError(where, "its JSON is nested too deeply") from None
    if not isinstance(read, dict) or read.keys() != _MEMBERS:
        raise HistoryError(where, 'it is no {"id": ..., "messages": [...]}')
    if not isinstance(read["id"], str):
        raise HistoryError(where, "its id is no text")
    try:
        messages = load_messages(json.dumps(read["messages"]))
    except HistoryError as error:
        raise HistoryError(
            f"{where}: {error.where}", error.problem, problems=error.problems
        ) from None
    return Conversation(id=read["id"], messages=messages)
