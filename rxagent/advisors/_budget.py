from __future__ import annotations

from collections.abc import Iterator

from reactivex import Observable

from rxagent.advisors._blocked import blocked
from rxagent.chain import around
from rxagent.choices import check_callable
from rxagent.context import Key
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.memory.tokens import CountTokens, estimate_tokens
from rxagent.messages import AssistantMessage, Message
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import Limit
from rxagent.tools.rules import check_count
from rxagent.types import Advisor, Exchange

OVER_BUDGET = Key("rxagent.over_budget", str)
"""In the context of a response: why the request was too long."""

TOO_LONG = "That is too long for me. Please make it shorter."


def budget(
    *,
    max_chars: int | None = 8000,
    max_tokens: int | None = None,
    count: CountTokens = estimate_tokens,
    refusal: str = TOO_LONG,
) -> Advisor:
    """Answer with a refusal, without calling the rest, if the request is too long.

    ::

        --q----|
        [ budget() ]                      q is longer than 8000 characters
        --(t,F)|                          t = the refusal; F is blocked_by "budget"

    It measures what is there at its place: outermost what the caller sends, behind a
    memory the history too, behind the tool loop each round.

    Args:
        max_chars: Of the text of all messages and the arguments of calls.
        max_tokens: Of all messages.
        count: The tokens of one message; by default an estimate.
        refusal: The answer's text.

    Returns:
        An advisor.  A blocked turn is a normal answer with ``finish_reason="blocked"``,
        no usage, and nothing in its transcript; ``limit`` says which limit it was, and
        ``context[OVER_BUDGET]`` says it in a sentence.

    Raises:
        ConfigurationError: If there is no limit, one is less than 1, or ``count`` is no
            function.
    """
    given = {"max_chars": max_chars, "max_tokens": max_tokens}
    limits = {name: value for name, value in given.items() if value is not None}
    if not limits:
        raise ConfigurationError("budget needs max_chars or max_tokens")
    for name, value in limits.items():
        check_count(name, value, least=1)
    check_callable("count", count)

    def broken(messages: tuple[Message, ...]) -> Iterator[Limit]:
        if max_chars is not None:
            found = sum(map(_chars, messages))
            if found > max_chars:
                yield _limit("max_chars", max_chars, f"{found} characters")
        if max_tokens is not None:
            found = sum(map(count, messages))
            if found > max_tokens:
                yield _limit("max_tokens", max_tokens, f"{found} tokens")

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        limit = next(broken(request.messages), None)
        if limit is None:
            return just(request).pipe(inner)
        reason = request.context.set(OVER_BUDGET, limit.message)
        return blocked(request, by="budget", text=refusal, context=reason, limit=limit)

    settings = (f"{name}={value}" for name, value in limits.items())
    return named(
        "budget", around(handle), settings=", ".join(settings), order=Order.GUARD
    )


def _chars(message: Message) -> int:
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return len(message.text) + sum(len(call.arguments) for call in calls)


def _limit(name: str, value: int, found: str) -> Limit:
    message = f"the request has {found}, and {value} are allowed; make it shorter"
    return Limit(name=name, value=value, message=f"{message} or raise {name}")
