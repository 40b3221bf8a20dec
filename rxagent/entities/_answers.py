"""The value that a response holds, or why it holds none."""

from __future__ import annotations

from typing import TypeVar

from rxagent.errors import InvalidAnswerError, NoAnswerError
from rxagent.output import OutputType
from rxagent.responses import ChatResponse

__all__ = ["answer_of"]

T = TypeVar("T")

_WHY = {
    "length": "the answer was cut off at a limit of tokens; raise max_tokens",
    "content_filter": "the provider's filter took the answer",
    "refusal": "the model refused to answer",
    "pause": "the provider paused the answer; ask it to go on",
    "paused": "the turn is paused; answer its calls with agent.resume",
    "tool_limit": "the turn ended at a limit before there was an answer",
    "interrupted": "the answer was interrupted",
}


def answer_of(response: ChatResponse, wanted: OutputType[T]) -> tuple[T, object]:
    """Read the answer of a turn, and the JSON that it was made of.

    Raises:
        NoAnswerError: If the turn ended before there was one.
        InvalidAnswerError: If it is not what was wanted; with all attempts, if they
            were counted, and with their usage.
    """
    reason = response.finish_reason
    if response.blocked_by is not None:
        why = f"{response.blocked_by} blocked the turn"
    elif response.limit is not None:
        why = response.limit.message
    elif response.tool_calls and reason == "tool_calls":
        why = "the model called tools, and nobody runs them; add tool_loop()"
    else:
        why = _WHY.get(reason, "")
    if why:
        raise NoAnswerError(
            f"there is no answer to read: {why}",
            finish_reason=reason,
            response=response,
            usage=response.usage,
        )
    try:
        return wanted.read_with_json(response.text)
    except InvalidAnswerError as error:
        verdict = response.verdict
        raise InvalidAnswerError(
            error.problem,
            texts=verdict.texts if verdict else error.texts,
            usage=response.usage,
        ) from None
