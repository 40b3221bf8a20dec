"""Which tools a model was offered."""

from __future__ import annotations

from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.events import ChatEvent, Finished
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.types import Exchange

__all__ = ["telling_tools"]


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
