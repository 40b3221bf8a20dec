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


class InnerMemory:
    """What the loop knows of a memory that is inside of it; made for one turn."""

    def __init__(self) -> None:
        self._given: HandOver | None = None

    def take_off(self, event: Finished) -> Finished:
        """Take what a memory handed over with an answer; nobody else sees it."""
        context = event.response.context
        self._given = context.get(HAND_OVER)
        if self._given is None:
            return event
        response = replace(event.response, context=context.without(HAND_OVER))
        return replace(event, response=response)

    def keep(self, response: ChatResponse) -> Observable[ChatEvent] | None:
        """Store an end that the memory does not see by itself, if there is one."""
        return self._given.keep(response) if self._given else None
