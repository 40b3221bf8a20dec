"""What a model wrote cannot be used, or there is nothing to use."""

from __future__ import annotations

from rxagent.errors._root import RxAgentError
from rxagent.usage import Usage

__all__ = [
    "ArgumentsError",
    "InvalidAnswerError",
    "NoAnswerError",
    "NoJsonError",
    "OutputError",
]


class OutputError(RxAgentError, ValueError):
    """What a model wrote cannot be used; the message is fit to be shown to it.

    Args:
        message: What is wrong and how to write it right.
        text: What the model wrote.
    """

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text


class ArgumentsError(OutputError):
    """The arguments of a tool call are no JSON object."""


class NoJsonError(OutputError):
    """An answer does not hold the JSON that was asked for."""


class InvalidAnswerError(OutputError):
    """An answer is not of the type that was asked for.

    Args:
        problem: The first thing that is wrong, as a sentence that the model can act on.
        texts: What the model answered, one text for each attempt.
        usage: Tokens of all attempts.

    Its attribute ``attempts`` is their number, ``text`` the last of them.
    """

    def __init__(
        self, problem: str, *, texts: tuple[str, ...], usage: Usage | None = None
    ) -> None:
        tries = f" (after {len(texts)} attempts)" if len(texts) > 1 else ""
        super().__init__(f"{problem}{tries}", text=texts[-1] if texts else "")
        self.problem = problem
        self.texts = texts
        self.attempts = len(texts)
        self.usage = usage


class NoAnswerError(RxAgentError):
    """A turn ended before there was an answer to read.

    Args:
        message: What happened and what to do.
        finish_reason: Why it ended, such as ``"blocked"`` or ``"length"``.
        response: The `ChatResponse`, with its text and, if it is paused, its snapshot.
        usage: Tokens that the turn has cost.
    """

    def __init__(
        self,
        message: str,
        *,
        finish_reason: str,
        response: object,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.finish_reason = finish_reason
        self.response = response
        self.usage = usage
