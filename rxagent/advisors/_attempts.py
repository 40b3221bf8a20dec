"""The attempts of one turn at a good answer: which stream follows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors._resumption import RESUME
from rxagent.errors import AdvisorError, InvalidAnswerError, RxAgentError
from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
)
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.operators import just, transduce
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, Verdict
from rxagent.types import Exchange
from rxagent.usage import Usage

__all__ = ["LEAD_IN", "Attempts"]

LEAD_IN = "Your last answer cannot be used. Give the whole answer again, corrected: "

_Said: TypeAlias = bool | str | None

_NO_VERDICT = object()
_ANSWERS = ("stop", "unknown", "return_direct", "tool_calls")


class Attempts:
    """What comes after what, made for each request within its subscription.

    Args:
        request: As it came.
        inner: The rest of the chain.
        judge: Says what is wrong with an answer.
        max_retries: How often it is asked again.
        raises: Whether the last bad answer is an error.
        live: Whether text is let out before it is judged.
    """

    def __init__(
        self,
        request: ChatRequest,
        inner: Exchange,
        *,
        judge: Callable[[ChatResponse], _Said | Observable[_Said]],
        max_retries: int,
        raises: bool,
        live: bool,
    ) -> None:
        self._request = request
        self._inner = inner
        self._judge = judge
        self._max_retries = max_retries
        self._raises = raises
        self._live = live
        self._held: list[ChatEvent] = []
        self._has_shown = False  # deltas, since the last boundary
        self._finished: Finished | None = None  # of this attempt
        self._is_judged = True
        self._problem: str | None = None
        self._answer: tuple[Message, ...] = ()  # that was not good
        self._texts: tuple[str, ...] = ()
        self._usage = Usage()
        self._rounds: tuple[Message, ...] = ()  # of tools, in all attempts

    def ask(self) -> Observable[ChatEvent]:
        """Ask the rest of the chain, with what was wrong before."""
        self._is_judged, self._finished = False, None
        request = self._request
        if self._texts:
            wrong = UserMessage.of(f"{LEAD_IN}{self._problem}")
            there = {message.id for message in request.messages}  # of a resumed turn
            rounds = (each for each in self._rounds if each.id not in there)
            messages = (*request.messages, *rounds, *self._answer, wrong)
            request = replace(request, messages=messages)
        return just(request).pipe(self._inner, transduce(lambda: self))

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Hold the text of the answer, and what follows it, until it is judged."""
        if isinstance(event, Finished):
            self._finished = event
            return ()
        if isinstance(event, RoundFinished | Retracted):
            held = () if isinstance(event, Retracted) else self._held
            self._held, self._has_shown = [], False
            return (*held, event)
        if self._live or not (self._held or isinstance(event, TextDelta)):
            self._has_shown = self._has_shown or isinstance(event, Delta)
            return (event,)
        self._held.append(event)
        return ()

    def flush(self) -> Sequence[ChatEvent]:
        """Nothing: what is held waits for the verdict."""
        return ()

    def again(self, _: None) -> Observable[ChatEvent] | None:
        """What follows the stream that has just completed."""
        if self._finished is None:
            return None  # whoever looks at the whole turn misses its end
        if not self._is_judged:
            self._is_judged = True
            return self._judged(self._finished)
        if self._problem is None or len(self._texts) > self._max_retries:
            return None
        return self.ask()

    def charged(self, error: Exception) -> Exception:
        """The error that ends the turn, with what all attempts have cost."""
        return error.after(self._usage) if isinstance(error, RxAgentError) else error

    def _judged(self, finished: Finished) -> Observable[ChatEvent]:
        response = finished.response
        self._usage += response.usage
        if not _is_answer(response):
            self._problem = None
            return just(*self._end(finished))
        said = self._judge(response)
        if isinstance(said, Observable):
            verdicts: Observable[object] = said
            return verdicts.pipe(
                ops.take(1),
                ops.default_if_empty(_NO_VERDICT),
                ops.flat_map(lambda one: just(*self._after(finished, one))),
            )
        return just(*self._after(finished, said))

    def _after(self, finished: Finished, said: object) -> Sequence[ChatEvent]:
        """What is to be said when it is known what is wrong."""
        if not isinstance(said, bool | str | None) or said == "":
            got = "nothing" if said is _NO_VERDICT else repr(said)
            raise AdvisorError(
                "validate", f"got {got} from its check, not true, false or a text"
            )
        if isinstance(said, str):
            self._problem = said
        else:
            self._problem = "it was rejected" if said is False else None
        response = finished.response
        self._texts += (response.text,)
        if self._problem is not None and len(self._texts) <= self._max_retries:
            return self._voided(finished)
        if self._problem is not None and self._raises:
            raise InvalidAnswerError(self._problem, texts=self._texts)
        verdict = Verdict(problem=self._problem, texts=self._texts)
        return self._end(replace(finished, response=replace(response, verdict=verdict)))

    def _voided(self, finished: Finished) -> Sequence[ChatEvent]:
        """Drop a bad answer; what its tools did counts on."""
        response = finished.response
        self._rounds += _rounds_of(response)
        # No provider takes an answer of nothing back.
        self._answer = (response.message,) if response.message.content else ()
        request = self._request
        after = max(request.origin.round, finished.origin.round) + 1
        self._request = replace(
            request,
            context=(request.context | response.context).without(RESUME),
            origin=replace(request.origin, round=after),
        )
        self._held.clear()
        void = Retracted(reason=self._problem or "", origin=finished.origin)
        shown, self._has_shown = self._has_shown, False
        return (void,) if shown else ()

    def _end(self, finished: Finished) -> Sequence[ChatEvent]:
        response = finished.response
        whole = replace(
            response,
            usage=self._usage,
            transcript=(*self._rounds, *(response.transcript or (response.message,))),
        )
        held, self._held = self._held, []
        return (*held, replace(finished, response=whole))


def _is_answer(response: ChatResponse) -> bool:
    """Whether it is the model's whole answer, and no call of a tool."""
    return (
        response.finish_reason in _ANSWERS
        and not response.tool_calls
        and response.blocked_by is None
    )


def _rounds_of(response: ChatResponse) -> tuple[Message, ...]:
    """What tools have added to the turn, and not the answer."""
    said = response.transcript
    last = said[-1] if said else None
    is_answer = isinstance(last, AssistantMessage) and not last.tool_calls
    return said[:-1] if is_answer else said
