from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reactivex import Observable

from rxagent.advisors._masking import masked
from rxagent.advisors._placeholders import Placeholders
from rxagent.advisors._restoring import restoring
from rxagent.chain import around
from rxagent.events import ChatEvent
from rxagent.guards import Pattern
from rxagent.guards._rules import rules_of
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.types import Advisor, Exchange


def pii(
    patterns: str | Pattern | Iterable[str | Pattern], *, timeout_s: float = 1.0
) -> Advisor:
    """Let the model see placeholders for what is personal, and nobody else.

    ::

        --q---------------|
        [ pii(EMAIL) ]                    the rest sees q with [EMAIL_1], and answers
        ----a--b-----(c,F)|               with it, cut in two; c and F hold the address

    Put it right of the tool loop.  Then it sees each request of a turn, the results of
    tools too, and the model's provider sees no value of any message.  What comes back
    is restored: text, thoughts, the arguments of calls, the whole answer.  So the
    caller, the tools and a memory have the values, and the model has none.  A memory
    stands left of it; right of it, it would keep placeholders, and is an error.

    The same value has the same placeholder, in all rounds and turns of a conversation.
    One that the model makes up stays as it is, and one that somebody typed comes back
    as it was typed.  The values are kept for the time of an answer, and nowhere but in
    its subscription.

    Masked are text, refusals, thoughts and the arguments of calls, in messages of all
    roles.  Media, names of files, descriptions of tools and options go out as they are,
    and so do thoughts with a signature, which only the provider that wrote them gets.

    Args:
        patterns: What to find, such as those of `rxagent.guards.patterns`; the name of
            a `Pattern` is what its placeholders say, as in ``[EMAIL_1]``.  Where
            several overlap, all of it is one value.
        timeout_s: How long one search may take, in seconds; more is a `GuardError`.

    Returns:
        An advisor.  A chain in which it stands left of the tool loop is refused.  An
        error passes as it is, and its text is not restored.

    Raises:
        ConfigurationError: If a pattern cannot be used; or without the regex package,
            which is in the extra ``guards``.
    """
    rules = rules_of("pii", patterns, max_hold_chars=1, timeout_s=timeout_s)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        values = Placeholders(rules)
        messages = tuple(masked(each, values) for each in request.messages)
        asked = replace(request, messages=messages, masked=True)
        is_json = request.typed or request.options.response_schema is not None
        return just(asked).pipe(inner, restoring(values, in_json=is_json))

    names = ", ".join(each.name for each in rules)
    return named(
        "pii", around(handle), settings=names, order=Order.IN_LOOP, in_rounds=True
    )
