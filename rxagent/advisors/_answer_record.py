"""What of an answer goes into a cache, if it is good."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from uuid import uuid4

from reactivex import Observable

from rxagent.caching import KeptAnswer
from rxagent.caching.answer import Channel
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolStarted,
)
from rxagent.messages import ToolMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.usage import Usage


class AnswerRecord:
    """Made for one turn, within its subscription.

    Args:
        tools: Whether an answer is good though tools have run for it.
    """

    def __init__(self, *, tools: bool) -> None:
        self._tools = tools
        self._have_run = False
        self._pieces: list[tuple[Channel, str]] = []  # since the last boundary

    def note(self, event: ChatEvent) -> None:
        """Take what is delivered."""
        match event:
            case TextDelta(text=text):
                self._pieces.append(("text", text))
            case ReasoningDelta(text=text):
                self._pieces.append(("reasoning", text))
            case Retracted():
                self._pieces.clear()
            case RoundFinished():
                self._have_run = True
                self._pieces.clear()
            case ToolStarted():
                self._have_run = True
            case _:
                pass

    def answer(self, response: ChatResponse) -> KeptAnswer | None:
        """The answer, if it may stand for another one."""
        if not self._is_good(response):
            return None
        return KeptAnswer(
            message=response.message,
            delivered=tuple(
                (channel, "".join(text for _, text in pieces))
                for channel, pieces in groupby(self._pieces, key=itemgetter(0))
            ),
            finish_reason_raw=response.finish_reason_raw,
            model=response.model,
            id=response.id,
        )

    def _is_good(self, response: ChatResponse) -> bool:
        message = response.message
        have_run = self._have_run or any(
            isinstance(each, ToolMessage) for each in response.transcript
        )
        return (
            response.finish_reason == "stop"
            and response.blocked_by is None
            and response.limit is None
            and response.snapshot is None
            and (response.verdict is None or response.verdict.is_valid)
            and bool(message.text.strip())
            and not message.refusal
            and not message.tool_calls
            and (self._tools or not have_run)
        )


def replayed(answer: KeptAnswer, request: ChatRequest) -> Observable[ChatEvent]:
    """A kept answer as the events of a turn.

    Args:
        answer: Of an equal request.
        request: Whose context and origin the events have.
    """
    # A new id: a memory that stores the same answer twice has to tell the two apart.
    message = replace(answer.message, id=uuid4().hex)
    response = ChatResponse(
        message=message,
        finish_reason="stop",
        finish_reason_raw=answer.finish_reason_raw,
        usage=Usage(),  # of no request; zeros would make what others do not know known
        model=answer.model,
        id=answer.id,
        context=request.context,
        transcript=(message,),
        cached=True,
    )
    origin = request.origin
    return just(
        *(
            TextDelta(text=text, origin=origin)
            if channel == "text"
            else ReasoningDelta(text=text, origin=origin)
            for channel, text in answer.delivered
        ),
        Finished(response=response, origin=origin),
    )
