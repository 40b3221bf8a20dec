"""How a memory inside the tool loop hears of the end of the turn.

It sees each model request with the results of the round before.  The results of the
last round reach it only so, if no request follows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reactivex import Observable

from rxagent.context import Key
from rxagent.events import ChatEvent, Finished
from rxagent.responses import ChatResponse


@dataclass(frozen=True, slots=True)
class HandOver:
    """What the loop is given with an answer that calls.

    Args:
        keep: Stores what the turn came to; emits nothing.
    """

    keep: Callable[[ChatResponse], Observable[ChatEvent]]


HAND_OVER = Key("rxagent.hand_over", HandOver)
"""Set on the response of a round, and taken off again by the loop."""


def taken_off(event: Finished) -> tuple[Finished, HandOver | None]:
    """The event as the rest may see it, and what was handed over with it."""
    response = event.response
    given = response.context.get(HAND_OVER)
    if given is None:
        return event, None
    context = response.context.without(HAND_OVER)
    return replace(event, response=replace(response, context=context)), given
