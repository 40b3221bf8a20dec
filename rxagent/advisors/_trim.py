from __future__ import annotations

from dataclasses import replace

from rxagent.chain import before
from rxagent.choices import check_callable
from rxagent.memory.fitting import fitted
from rxagent.memory.tokens import CountTokens, estimate_tokens
from rxagent.named import Order, named
from rxagent.requests import ChatRequest
from rxagent.tools.rules import check_count
from rxagent.types import Advisor


def trim(max_tokens: int, *, count: CountTokens = estimate_tokens) -> Advisor:
    """Leave out the oldest messages of a request that is too long.

    ::

        --q-----------|
        [ trim(1000) ]                    the rest gets what fits, answers --a--b--F|
        ----a--b--F---|

    Whole turns go first; then the oldest rounds of the turn that is open, each with its
    results.  Instructions, the question and what came last always stay, so no prompt is
    ever empty: if that alone is too long, the provider says so.  Inside the tool loop
    it holds for each round.  Nothing goes out of any store.

    Args:
        max_tokens: Of the messages, in tokens; tools are not counted, nor the answer.
        count: The tokens of one message; by default an estimate.

    Returns:
        An advisor.

    Raises:
        ConfigurationError: If ``max_tokens`` is less than 1, or ``count`` is no
            function.
    """
    check_count("max_tokens", max_tokens, least=1)
    check_callable("count", count)

    def trimmed(request: ChatRequest) -> ChatRequest:
        messages = fitted(request.messages, max_tokens=max_tokens, count=count)
        return replace(request, messages=messages)

    return named(
        "trim",
        before(trimmed),
        settings=f"max_tokens={max_tokens}",
        order=Order.IN_LOOP,
    )
