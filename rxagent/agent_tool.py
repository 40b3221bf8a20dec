"""The function of a tool that is an agent."""

from __future__ import annotations

from collections.abc import Callable

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ToolError, ToolFailedError
from rxagent.events import ChatEvent, Finished
from rxagent.messages import UserMessage
from rxagent.requests import ChatRequest
from rxagent.tools import ToolContext

__all__ = ["asking"]

# Of agents in one another.  Each takes some 40 frames of the stack, of 1,000.
_DEEPEST = 10


def asking(
    stream: Callable[[ChatRequest], Observable[ChatEvent]],
) -> Callable[[str, ToolContext], Observable[object]]:
    """Make a function that asks an agent on behalf of another one.

    Args:
        stream: Of the agent.

    Returns:
        A function from a prompt to what the agent does, and its response at the end.
        It raises a `ToolError` if agents ask one another without end.
    """

    def ask(prompt: str, caller: ToolContext) -> Observable[object]:
        path = caller.origin.path
        if len(path) >= _DEEPEST:
            raise ToolError(
                caller.call.name,
                f"is asked by an agent that is a tool itself, {len(path)} deep "
                f"({' / '.join(path[-4:])}); agents that are tools of one another ask "
                "without end",
            )
        request = ChatRequest(messages=(UserMessage.of(prompt),), origin=caller.origin)
        return stream(request).pipe(ops.map(_answer_or_event))

    return ask


def _answer_or_event(event: ChatEvent) -> object:
    if not isinstance(event, Finished):
        return event
    response = event.response
    if response.finish_reason == "paused":
        problem = ToolFailedError(
            "this agent waits for a decision that nobody can make from here, so it did "
            "not finish; give it an approver",
            kind="environment",
        )
        raise problem.after(response.usage)
    if response.limit is not None:
        said = f"this agent did not finish: {response.limit.message}"
        raise ToolFailedError(said).after(response.usage)
    return response
