from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from reactivex import Observable

from rxagent.advisors._attempts import Attempts
from rxagent.chain import around
from rxagent.choices import check_callable, check_choice
from rxagent.errors import ConfigurationError, InvalidAnswerError
from rxagent.events import ChatEvent
from rxagent.named import Order, named
from rxagent.operators import expand_rounds
from rxagent.output import output_type
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, Exchange

OnExhausted: TypeAlias = Literal["return", "raise"]

AnswerCheck: TypeAlias = Callable[
    [ChatResponse], bool | str | Observable[bool | str | None] | None
]
"""Says of an answer whether it is good (``True``, ``None``) or what is wrong."""


def validate(
    kind: object = None,
    *,
    check: AnswerCheck | None = None,
    max_retries: int = 3,
    on_exhausted: OnExhausted = "return",
    live: bool = False,
) -> Advisor:
    """Check the answer, and ask again with what is wrong until it is good.

    ::

        --q-----------------|
        [ validate(Film) ]                inner answers --a-F1|, then --b-F2|;
        ---------------(b,F)|             F1 is no Film; F counts both

    It looks at answers, never at tool calls: a model that calls tools is left to the
    loop.  An answer that was blocked, refused, limited, paused or cut off is passed on
    as it is.  A retry asks the rest of the chain again, what is outside is not run
    again: so stand inside retrieval and memory, and left of ``tool_loop()``.  It shows
    the model its bad answer and the first problem, always those of the last attempt;
    the results of tools stay, and what they wrote into the context.

    Args:
        kind: A type or JSON Schema that the answer's text must fit; see
            `rxagent.output.output_type`.
        check: Instead of ``kind``, what says of a response whether it is good: ``True``
            or ``None``, or ``False``, or a sentence that the model can act on; or an
            observable of one of these, such as the answer of a judge.
        max_retries: How often it asks again; 0 is one attempt.
        on_exhausted: ``"return"`` gives the last answer with a ``verdict`` that says
            what is wrong, ``"raise"`` an error.
        live: Let the text out as it comes.  Otherwise the text waits for the verdict,
            and what follows it.  What was shown of a bad attempt, thoughts too, is
            voided with `Retracted` before the next one.

    Returns:
        An advisor.  The response has the ``verdict``, the ``usage`` of all attempts,
        and in its transcript the last answer alone.  An error of the stream drops what
        waits, and has the usage of all attempts; a disposal drops it, too, and ends the
        check.

    Raises:
        ConfigurationError: If it gets both of ``kind`` and ``check``, or neither; a
            type that cannot be checked; or a number below 0.

    The error of the stream is an `InvalidAnswerError` where ``"raise"`` says so.
    """
    if (kind is None) == (check is None):
        raise ConfigurationError(
            "validate takes either a type or schema, or check=, and not both"
        )
    check_callable("check", check)
    check_choice("on_exhausted", on_exhausted, OnExhausted)
    is_count = isinstance(max_retries, int) and not isinstance(max_retries, bool)
    if not is_count or max_retries < 0:
        raise ConfigurationError(f"max_retries must be 0 or more, not {max_retries!r}")
    judge = check or _by_type(kind)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        attempts = Attempts(
            request,
            inner,
            judge=judge,
            max_retries=max_retries,
            raises=on_exhausted == "raise",
            live=live,
        )
        return attempts.ask().pipe(
            expand_rounds(_nothing, _ignore, attempts.again, failed=attempts.charged)
        )

    return named(
        "validate",
        around(handle),
        settings=f"max_retries={max_retries}",
        order=Order.VALIDATE,
        checks_type=check is None,
    )


def _by_type(kind: object) -> AnswerCheck:
    wanted = output_type(kind)

    def check(response: ChatResponse) -> str | None:
        try:
            wanted.read(response.text)
        except InvalidAnswerError as error:
            return error.problem
        return None

    return check


def _nothing() -> None:
    return None


def _ignore(_: None, __: ChatEvent) -> None:
    return None
