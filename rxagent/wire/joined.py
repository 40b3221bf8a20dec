"""The messages of a request as one piece of JSON, each encoded once.

A message remembers its bytes, and the last one what was sent up to it, so that the
rounds of a long tool loop cost what they add and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rxagent.messages import Message, SystemMessage

__all__ = ["encoded_once", "joined"]

_REACH = 64  # messages that a round may add; further back nothing is looked up


def _without_system(messages: tuple[Message, ...]) -> bool:
    """Whether none has to go to the front, before what was sent."""
    return not any(isinstance(each, SystemMessage) for each in messages)


def joined(
    messages: tuple[Message, ...],
    *,
    key: str,
    encode: Callable[[tuple[Message, ...]], Iterable[bytes]],
    may_follow: Callable[[tuple[Message, ...]], bool] = _without_system,
) -> bytes:
    """Join the messages; those that an earlier request has sent are not looked at.

    Args:
        messages: All of a request.
        key: Of the format and its settings: what is encoded otherwise has another key.
        encode: Gets the messages that are new and yields JSON values; all of them,
            where the new ones do not just follow what was sent.
        may_follow: Whether they do.

    Returns:
        JSON values, parted by commas.
    """
    key = f"{key} up to here"
    sent = _Sent((), b"")
    for message in reversed(messages[-_REACH:]):
        found = message.memo.pop(key, None)
        if isinstance(found, _Sent):
            count = len(found.messages)
            rest = messages[count:]
            if found.messages == messages[:count] and may_follow(rest):
                sent = found
            break
    new = b",".join(encode(messages[len(sent.messages) :]))
    whole = b",".join(filter(None, (sent.joined, new)))
    if messages:
        # Moved along, so that a conversation holds one copy and not one a round.
        messages[-1].memo[key] = _Sent(messages, whole)
    return whole


def encoded_once(message: Message, *, key: str, encode: Callable[[], bytes]) -> bytes:
    """Return the bytes of a message, made by ``encode`` if it has none under ``key``.

    Args:
        message: Remembers them.
        key: Of the format and its settings.
        encode: Makes them.
    """
    found = message.memo.get(key)
    if not isinstance(found, bytes):
        found = message.memo[key] = encode()
    return found


@dataclass(frozen=True, slots=True)
class _Sent:
    """Messages that were sent, and their bytes."""

    messages: tuple[Message, ...]
    joined: bytes
