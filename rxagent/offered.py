"""Which tools a model was offered, and which it would be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.context import Key
from rxagent.events import ChatEvent, Finished
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.types import Exchange, Operator

__all__ = ["OFFERS", "Offers", "telling_tools"]


@dataclass(frozen=True, slots=True)
class Offers:
    """What the advisors right of a tool loop do to the tools of a round.

    A turn that goes on after a pause runs calls before it asks the model, and so the
    loop has to know what the model was offered without asking it.

    Args:
        operators: Outermost first.
    """

    operators: tuple[Operator[ChatRequest, ChatRequest], ...] = ()

    def of(self, request: ChatRequest) -> Observable[ChatRequest]:
        """The request as it would be sent, as far as its tools go."""
        return just(request).pipe(*self.operators)


OFFERS = Key("rxagent.offers", Offers)
"""Where a loop finds them, in the context of its request."""


def telling_tools(model: Exchange) -> Exchange:
    """A model whose response says which tools it was offered.

    Advisors between it and the tool loop may have added some, for this round.
    """

    def answer(request: ChatRequest) -> Observable[ChatEvent]:
        def tell(event: ChatEvent) -> ChatEvent:
            if not isinstance(event, Finished):
                return event
            response = replace(event.response, offered=request.tools)
            return replace(event, response=response)

        return just(request).pipe(model, ops.map(tell))

    return concat_each(answer)
