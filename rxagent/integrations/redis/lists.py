"""Conversations as lists: what is said to Redis, over one client.

A conversation is one list: a header, then a message in each element.  So whatever reads
or writes it is one command, in a cluster too, and it expires as one.  Its id is in a
sorted set as well, so that a page of ids needs no scan of the keys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from rxagent.errors import ConflictError
from rxagent.integrations.redis.client import Commands
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.rows import messages_of, rows_of
from rxagent.messages import Message

__all__ = ["Lists"]

# Takes the key; the version to be found or nothing, append or replace, the time, the
# milliseconds to keep it or nothing, and the messages.  Returns whether it has written,
# and the version that is there.
_WRITE = """
local header = redis.call('LINDEX', KEYS[1], 0)
local found = header and cjson.decode(header) or {version = 0, messages = 0}
if ARGV[1] ~= '' and tonumber(ARGV[1]) ~= found.version then
  return {0, found.version}
end
if ARGV[2] == 'replace' then
  redis.call('DEL', KEYS[1])
  header, found.messages = false, 0
end
local written = cjson.encode({
  version = found.version + 1,
  messages = found.messages + #ARGV - 4,
  updated_at = ARGV[3],
})
if header then
  redis.call('LSET', KEYS[1], 0, written)
else
  redis.call('RPUSH', KEYS[1], written)
end
for index = 5, #ARGV do
  redis.call('RPUSH', KEYS[1], ARGV[index])
end
if ARGV[4] == '' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return {1, found.version + 1}
"""


class Lists:
    """A store's lists, over a client.

    Args:
        client: Used, and not closed.
        prefix: What the names of all keys begin with.
    """

    def __init__(self, client: Commands, prefix: str) -> None:
        self._execute = client.execute_command
        self._prefix = prefix
        self._ids = f"{prefix}conversations"  # equal scores, so they are in order

    async def load(self, conversation_id: str) -> Conversation:
        """Read a conversation, whole; an empty one if there is none."""
        found = await self._execute("LRANGE", self._key(conversation_id), 0, -1)
        if not found:
            return Conversation(id=conversation_id)
        header, *rows = map(_bytes, found)
        return Conversation(
            id=conversation_id,
            messages=messages_of(conversation_id, rows),
            version=_info(conversation_id, header).version,
        )

    async def version(self, conversation_id: str) -> int:
        """The version of a conversation; 0 if there is none."""
        info = await self._found(conversation_id)
        return 0 if info is None else info.version

    async def write(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected: int | None,
        replaces: bool,
        now: datetime,
        expire_s: float | None,
    ) -> int:
        """Put messages behind the others, or in their place; return the new version.

        Raises:
            ConflictError: If the conversation is not at the ``expected`` version.
        """
        has_written, version = await self._execute(
            "EVAL",
            _WRITE,
            1,
            self._key(conversation_id),
            "" if expected is None else expected,
            "replace" if replaces else "append",
            now.astimezone(UTC).isoformat(),
            "" if expire_s is None else max(1, round(expire_s * 1000)),
            *rows_of(messages),
        )
        if expected is not None and not has_written:
            raise ConflictError(conversation_id, expected=expected, found=version)
        # Each time: whoever found the one before expired takes it off just now.
        await self._list(conversation_id)
        return int(version)

    async def delete(self, conversation_id: str) -> bool:
        """Forget a conversation; return whether there was one."""
        gone = await self._execute("DEL", self._key(conversation_id))
        await self._unlist(conversation_id)
        return bool(gone)

    async def page(self, *, limit: int, after: str | None) -> list[ConversationInfo]:
        """List conversations in the order of their ids."""
        infos: list[ConversationInfo] = []
        start = b"-" if after is None else b"(" + after.encode()
        while (left := limit - len(infos)) > 0:
            found: list[bytes | str] = await self._execute(
                "ZRANGEBYLEX", self._ids, start, "+", "LIMIT", 0, left
            )
            if not found:
                break
            ids = [_bytes(each).decode() for each in found]
            for each, info in zip(
                ids, await asyncio.gather(*map(self._found, ids)), strict=True
            ):
                if info is None:
                    await self._unlist(each)  # it has expired
                else:
                    infos.append(info)
            start = b"(" + ids[-1].encode()
        return infos

    def _key(self, conversation_id: str) -> str:
        return f"{self._prefix}conversation:{conversation_id}"

    async def _found(self, conversation_id: str) -> ConversationInfo | None:
        header = await self._execute("LINDEX", self._key(conversation_id), 0)
        return None if header is None else _info(conversation_id, _bytes(header))

    async def _list(self, conversation_id: str) -> None:
        await self._execute("ZADD", self._ids, 0, conversation_id)

    async def _unlist(self, conversation_id: str) -> None:
        """Take a conversation off the list that is not there.

        In a cluster the list is elsewhere, and no script has both.  So it looks again:
        a writer lists what it has written, and one of the two comes last.
        """
        await self._execute("ZREM", self._ids, conversation_id)
        if await self._found(conversation_id) is not None:
            await self._list(conversation_id)


def _info(conversation_id: str, header: bytes) -> ConversationInfo:
    found = json.loads(header)
    return ConversationInfo(
        id=conversation_id,
        messages=found["messages"],
        version=found["version"],
        updated_at=datetime.fromisoformat(found["updated_at"]),
    )


def _bytes(text: bytes | str) -> bytes:
    """What a client returns, whether it decodes or not."""
    return text.encode() if isinstance(text, str) else text
