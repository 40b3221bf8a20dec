"""Answering the calls of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from reactivex import Observable

from rxagent.context import Context
from rxagent.messages import Message, ToolCall
from rxagent.requests import Origin, ToolSpec
from rxagent.tools.call import run_call
from rxagent.tools.call_settings import CallSettings
from rxagent.tools.executor import Answer, Executor
from rxagent.tools.executors import concurrent
from rxagent.tools.job import Submit
from rxagent.tools.report import ToolEvent
from rxagent.tools.tool import is_tool

__all__ = ["run_batch"]


def run_batch(
    calls: Sequence[ToolCall],
    tools: Mapping[str, ToolSpec],
    *,
    context: Context,
    origin: Origin,
    messages: tuple[Message, ...] = (),
    executor: Executor | None = None,
    settings: CallSettings | None = None,
) -> Observable[ToolEvent]:
    """Answer the calls of a round; for those too who drive a loop of their own.

    ::

        [ run_batch([a, b, c], tools, executor=concurrent(max_concurrency=2)) ]
        (a,b)-(B,c)-A(C,|)               a, b, c start; A, B, C finish

    Each call is answered as by `run_call`.  A result belongs to the call that its event
    carries: put the messages in the order of the calls before they enter a history.

    Args:
        calls: Of one round.
        tools: What may run, by name; see `tool_index`.
        context: Every call sees this one.
        origin: The run and the round, put on every event.
        messages: The conversation, for tools that look at it.
        executor: Runs them; by default `concurrent`.
        settings: How each is run; what a tool declares wins.

    Returns:
        A cold observable of exactly one `ToolFinished` for each call; without calls, of
        nothing.  The first error ends it, cancels the other calls and starts no more;
        disposing does the same.
    """
    executor = executor or concurrent()
    settings = settings or CallSettings()
    if settings.timeout_s is None and executor.timeout_s is not None:
        settings = replace(settings, timeout_s=executor.timeout_s)

    def start(call: ToolCall, submit: Submit) -> Observable[ToolEvent]:
        return run_call(
            call,
            tools,
            context=context,
            origin=origin,
            messages=messages,
            settings=settings,
            submit=submit,
        )

    return executor(
        [
            Answer(call, _is_serial(tools.get(call.name)), partial(start, call))
            for call in calls
        ]
    )


def _is_serial(spec: ToolSpec | None) -> bool:
    return is_tool(spec) and spec.rules.serial
