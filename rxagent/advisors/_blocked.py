"""The answer of an advisor that answers in the model's place."""

from __future__ import annotations

from reactivex import Observable

from rxagent.context import Context
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, Limit
from rxagent.usage import Usage

__all__ = ["blocked"]


def blocked(
    request: ChatRequest,
    *,
    by: str,
    text: str,
    context: Context | None = None,
    limit: Limit | None = None,
    usage: Usage | None = None,
) -> Observable[ChatEvent]:
    """Answer ``request`` with ``text``, as a turn that stores nothing.

    Args:
        request: What is not answered.
        by: Who blocks it.
        text: What to say.
        context: What comes back; by default the request's.
        limit: The limit that it breaks, if it does.
        usage: What a model has cost before; by default none was asked.
    """
    response = ChatResponse(
        message=AssistantMessage.of(text),
        finish_reason="blocked",
        blocked_by=by,
        context=request.context if context is None else context,
        limit=limit,
        usage=usage or Usage(),
    )
    return just(
        TextDelta(text=text, origin=request.origin),
        Finished(response=response, origin=request.origin),
    )
