from __future__ import annotations

import logging
from collections.abc import Callable

from reactivex import Observable
from reactivex import operators as ops

from rxagent.chain import around
from rxagent.events import ChatEvent, Finished, RoundFinished
from rxagent.named import named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, Exchange

_LOGGER = logging.getLogger("rxagent")


def log(
    *,
    logger: logging.Logger = _LOGGER,
    level: int = logging.INFO,
    preview_chars: int = 80,
    format_request: Callable[[ChatRequest], str] | None = None,
    format_response: Callable[[ChatResponse], str] | None = None,
    events: bool = False,
) -> Advisor:
    """Log one line before and one after; change nothing.

    ::

        --q-----------|
        [ log() ]                         inner answers --a--b--F|; lines at q and at F
        ----a--b--F---|

    Outside the tool loop it sees a turn, and what the user typed if it is outermost;
    inside, every model request with its whole history.  Values of the context are never
    logged, only their names.

    Args:
        logger: Where to.
        level: Of every line but that of an error, which is a warning.
        preview_chars: How much of an answer's text a line shows.
        format_request: Makes the line of a request.
        format_response: Makes the line of a response.
        events: A line for each event too, at DEBUG.

    Returns:
        An advisor.  A formatter that raises is named in the line and breaks nothing.
    """

    def request_line(request: ChatRequest) -> str:
        choice = request.options.tool_choice or "auto"
        return (
            f"{len(request.messages)} messages, {len(request.tools)} tools"
            f"{f' (choice {choice})' if request.tools else ''}"
            f"{f', context {request.context!r}' if len(request.context) else ''}"
        )

    def response_line(response: ChatResponse) -> str:
        calls = ", ".join(call.name for call in response.tool_calls)
        text = response.text
        cut = text if len(text) <= preview_chars else f"{text[:preview_chars]}…"
        said = f"calls {calls}" if calls else repr(cut)
        return f"{response.finish_reason}: {said}"

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        where = "/".join((*request.origin.path, f"round {request.origin.round}"))

        def on_next(event: ChatEvent) -> None:
            if events:
                logger.debug("%s: %r", where, event)
            if isinstance(event, Finished | RoundFinished):
                line = _safe(format_response or response_line, event.response)
                logger.log(level, "%s <- %s", where, line)

        def on_error(error: Exception) -> None:
            logger.warning("%s <- %s: %s", where, type(error).__name__, error)

        logger.log(
            level, "%s -> %s", where, _safe(format_request or request_line, request)
        )
        return just(request).pipe(inner, ops.do_action(on_next, on_error))

    return named("log", around(handle))


def _safe(format_value: Callable[..., str], value: object) -> str:
    try:
        return format_value(value)
    except Exception as error:  # noqa: BLE001 - a log line must not break a turn
        return f"(the formatter failed: {type(error).__name__}: {error})"
