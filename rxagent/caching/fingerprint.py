"""What of a request shapes its answer, as digests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import TypeAlias

from rxagent.caching.canonical import canonical
from rxagent.messages import Message, Text, UserMessage
from rxagent.requests import ChatOptions, ChatRequest

__all__ = ["Fingerprint", "KeyOf", "context_of", "fingerprint"]

_MEMO = "rxagent.caching.fingerprint"

KeyOf: TypeAlias = Callable[[ChatRequest], object]
"""What tells requests apart, besides their messages, tools and options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Digests of a request.

    Args:
        key: Equal for requests that ask for the same.
        surroundings: Equal for requests that differ in the words of their question, and
            in nothing else.
        question: The words; ``None`` if the request does not end with the user's.
    """

    key: str
    surroundings: str
    question: str | None


def context_of(request: ChatRequest) -> object:
    """The whole context: the key that keeps everybody apart."""
    return dict(request.context)


def fingerprint(request: ChatRequest, *, namespace: str, key: KeyOf) -> Fingerprint:
    """Digest all of a request that shapes its answer.

    That is: each message, without its id and its mark; each tool as the model sees it;
    all options but ``stream``, which changes the wire alone; the namespace; and what
    ``key`` returns.

    Args:
        request: As it stands at the cache's place.
        namespace: What answers, as far as the request does not say it.
        key: What else tells requests apart.

    Returns:
        Digests of 64 characters, which do not tell what was asked.

    Raises:
        RequestError: If something has no digest; see `canonical`.
    """
    entry = request.entry
    before = request.messages[:-1] if entry else request.messages
    tools = [(each.name, each.description, each.parameters) for each in request.tools]
    options = {
        each.name: getattr(request.options, each.name)
        for each in fields(ChatOptions)
        if each.name != "stream"
    }
    around = canonical(
        (
            namespace,
            [_digest_of(each) for each in before],
            _without_words(entry),
            tools,
            options,
            key(request),
        )
    )
    surroundings = _digest(around)
    words = (
        [part.text for part in entry.content if isinstance(part, Text)] if entry else []
    )
    return Fingerprint(
        key=_digest(canonical((surroundings, words))),
        surroundings=surroundings,
        question="".join(words).strip() or None,
    )


def _without_words(entry: UserMessage | None) -> object:
    """What the user showed, and where the words stood between it."""
    if entry is None:
        return None
    return ["words" if isinstance(part, Text) else part for part in entry.content]


def _digest_of(message: Message) -> str:
    # Once for each message: a history is digested again in every turn.
    memo = message.memo
    found = memo.get(_MEMO)
    if not isinstance(found, str):
        found = memo[_MEMO] = _digest(canonical(message))
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
