"""Conversations in Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

import reactivex
from reactivex import Observable, abc
from redis.exceptions import RedisError

from rxagent.errors import ConfigurationError, StoreError
from rxagent.integrations.redis.client import AnyClient, Clients
from rxagent.integrations.redis.lists import Lists
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.versions import check_id, write_time
from rxagent.messages import Message
from rxagent.operators import concat_each, just
from rxagent.runtime import Sink, from_producer

__all__ = ["RedisStore"]

T = TypeVar("T")

_Doing: TypeAlias = Literal["read", "written", "deleted"]

_log = logging.getLogger(__name__)


class RedisStore:
    """Conversations in Redis, or in a server that speaks like it and runs Lua scripts.

    A write is one script on one key, so several processes and machines may share a
    server or a cluster.

    Args:
        server: A URL, such as ``"redis://host:6379/0"``, or a client of your own, a
            ``redis.asyncio.Redis`` or ``RedisCluster``.  It is used as it is, on one
            event loop, and never closed.  One that retries may write twice.
        prefix: What the names of all keys begin with.
        expire_s: How long after its last write a conversation is kept, in seconds;
            without it, until it is deleted.
        timeout_s: How long a call may take, in seconds.

    Raises:
        ConfigurationError: If the URL cannot be read, or a number is not above 0.
    """

    def __init__(
        self,
        server: str | AnyClient,
        *,
        prefix: str = "rxagent:",
        expire_s: float | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        for name, value in (("expire_s", expire_s), ("timeout_s", timeout_s)):
            if value is not None and not value > 0:
                raise ConfigurationError(f"{name} must be above 0, got {value}")
        self._clients = Clients(server, timeout_s=timeout_s)
        self._prefix = prefix
        self._expire_s = expire_s
        self._timeout_s = timeout_s
        self._running: set[asyncio.Task[object]] = set()

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation; see `ConversationStore.load`."""

        async def load(lists: Lists, _: datetime) -> Conversation:
            return await lists.load(conversation_id)

        return self._once(load, conversation_id, doing="read")

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind the others; see `ConversationStore.append`."""
        added = tuple(messages)

        async def append(lists: Lists, now: datetime) -> int:
            if not added:
                return await lists.version(conversation_id)
            return await lists.write(
                conversation_id,
                added,
                expected=expected_version,
                replaces=False,
                now=now,
                expire_s=self._expire_s,
            )

        return self._once(append, conversation_id, doing="written")

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of the others; see `ConversationStore.replace`."""
        kept = tuple(messages)

        async def replace(lists: Lists, now: datetime) -> int:
            return await lists.write(
                conversation_id,
                kept,
                expected=expected_version,
                replaces=True,
                now=now,
                expire_s=self._expire_s,
            )

        return self._once(replace, conversation_id, doing="written")

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation; see `ConversationStore.delete`."""

        async def delete(lists: Lists, _: datetime) -> bool:
            return await lists.delete(conversation_id)

        return self._once(delete, conversation_id, doing="deleted")

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""

        async def page(lists: Lists, _: datetime) -> list[ConversationInfo]:
            return await lists.page(limit=limit, after=after)

        return self._once(page, doing="read").pipe(concat_each(_each))

    def __repr__(self) -> str:
        return f"RedisStore({self._clients.shown!r})"

    def _once(
        self,
        act: Callable[[Lists, datetime], Awaitable[T]],
        conversation_id: str | None = None,
        *,
        doing: _Doing,
    ) -> Observable[T]:
        """Act once for each subscription, within ``timeout_s``."""

        def start(scheduler: abc.SchedulerBase) -> Observable[T]:
            now = write_time(scheduler)

            async def call() -> T:
                client = await self._clients.of_loop()
                return await act(Lists(client, self._prefix), now)

            async def produce(sink: Sink[T]) -> None:
                if conversation_id is not None:
                    check_id(conversation_id)
                try:
                    async with asyncio.timeout(self._timeout_s):
                        result = await self._to_its_end(call())
                except TimeoutError:
                    problem = f"no answer within {self._timeout_s:g} s"
                    raise self._failed(conversation_id, doing, problem) from None
                except (RedisError, OSError) as error:
                    said = str(error) or type(error).__name__
                    problem = self._clients.hidden(said)
                    cause = error if problem == said else None
                    raise self._failed(conversation_id, doing, problem) from cause
                sink.emit(result)

            return from_producer(produce)

        return reactivex.defer(start)

    async def _to_its_end(self, call: Awaitable[T]) -> T:
        """Wait for ``call``, which goes on if nobody waits any more.

        What has begun is done, and a connection is not lost with each that leaves.
        """
        task = asyncio.ensure_future(call)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_report)
            raise

    def _failed(
        self, conversation_id: str | None, doing: _Doing, problem: str
    ) -> StoreError:
        unsure = "" if doing == "read" else f"; whether it was {doing} is not known"
        return StoreError(
            conversation_id or "",
            f"cannot be {doing} at {self._clients.shown}: {problem}{unsure}",
        )


def _report(task: asyncio.Task[T]) -> None:
    if not task.cancelled() and (error := task.exception()):
        _log.warning("what nobody waits for any more failed: %s", type(error).__name__)


def _each(infos: list[ConversationInfo]) -> Observable[ConversationInfo]:
    return just(*infos)
