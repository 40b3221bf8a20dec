from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from reactivex import Observable

from rxagent.advisors._blocked import blocked
from rxagent.advisors._folding import Words
from rxagent.chain import around
from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.messages import Message, SystemMessage
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.types import Advisor, Exchange

REFUSAL = "I can't help with that. Let's talk about something else."

Scope: TypeAlias = Literal["entry", "system", "all"]


def safeguard(
    words: Iterable[str],
    *,
    refusal: str = REFUSAL,
    scope: Scope = "entry",
    look_alikes: bool = True,
    tag: str = "safeguard",
) -> Advisor:
    """Answer with a refusal, without calling the rest, if the request holds a word.

    ::

        --q----|
        [ safeguard(words) ]              q holds one of them
        --(t,F)|                          t = the refusal; F is blocked_by "safeguard"

    It looks at the message that opens the turn, and not at the answer: see guards for
    that.  Letter case, width, style, invisible characters, marks put on letters and
    letters s p a c e d out do not hide a word.  A list of words is a starting point,
    not a compliance barrier: `moderate` asks somebody who understands the text.

    Args:
        words: Each is looked for anywhere, also inside longer words.  Blank ones are
            ignored; with none, nothing is blocked.
        refusal: The answer's text.
        scope: Where to look.  ``"entry"`` is the message that opens the turn, so a turn
            that goes on, with tool results or from a snapshot, passes.  ``"system"`` is
            the system text alone, for one that is put together from what others wrote.
            ``"all"`` is every message of the request, each by itself.
        look_alikes: Read letters of other scripts that look Latin as Latin, and letters
            with an accent or a stroke as those without; a word that is written with
            accents is found with them only.  Letters and digits of ASCII stand for
            themselves.
        tag: What ``blocked_by`` says, to tell several lists apart.

    Returns:
        An advisor.  A blocked turn is a normal answer with ``finish_reason="blocked"``,
        no usage and an empty transcript, and a memory stores nothing of it.

    Raises:
        ConfigurationError: If ``words`` is a single string, or ``scope`` no scope.

    Source: Unicode Technical Standard #39, "Unicode Security Mechanisms", section 4;
    accents as in #10, "Unicode Collation Algorithm", section 8.2, asymmetric search.
    """
    if isinstance(words, str):
        raise ConfigurationError(
            f"safeguard takes a list of words, got the string {words!r}; "
            f"write safeguard([{words!r}])"
        )
    check_choice("scope", scope, Scope)
    banned = Words(words, look_alikes=look_alikes)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        if any(banned.are_in(message.text) for message in _seen(request, scope)):
            return blocked(request, by=tag, text=refusal)
        return just(request).pipe(inner)

    return named(
        "safeguard",
        around(handle),
        settings=f"words={len(banned)}",
        order=Order.GUARD,
    )


def _seen(request: ChatRequest, scope: Scope) -> Iterable[Message]:
    if scope == "entry":
        return (request.entry,) if request.entry else ()
    if scope == "system":
        return (each for each in request.messages if isinstance(each, SystemMessage))
    return request.messages
