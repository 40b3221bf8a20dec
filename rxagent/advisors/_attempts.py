"""The attempts of one turn at a good answer: which stream follows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import AdvisorError, InvalidAnswerError
from rxagent.events import (
    ChatEvent,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
)
from rxagent.messages import Message, UserMessage
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
            said = (*self._rounds, *self._answer, wrong)
            request = replace(request, messages=(*request.messages, *said))
        return just(request).pipe(self._inner, transduce(lambda: self))

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Hold the text of the answer, and what follows it, until it is judged."""
        if isinstance(event, Finished):
            self._finished = event
            return ()
        if isinstance(event, RoundFinished | Retracted):
            held, self._held = self._held, []
            return (*held, event)
        if self._live or not (self._held or isinstance(event, TextDelta)):
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
        if not isinstance(said, bool | str | None):
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
        is_last = self._problem is None or len(self._texts) > self._max_retries
        if not is_last:
            self._rounds += response.transcript[:-1]
            # No provider takes an answer of nothing back.
            self._answer = (response.message,) if response.message.content else ()
            self._held.clear()
            reason = self._problem or ""
            void = Retracted(reason=reason, origin=finished.origin)
            return (void,) if self._live else ()
        if self._problem is not None and self._raises:
            raise InvalidAnswerError(
                self._problem, texts=self._texts, usage=self._usage
            )
        verdict = Verdict(problem=self._problem, texts=self._texts)
        return self._end(replace(finished, response=replace(response, verdict=verdict)))

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
