"""Answering one tool call."""

from __future__ import annotations

from collections.abc import Mapping

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxagent.context import Context
from rxagent.errors import ArgumentsError, ToolError
from rxagent.messages import Message, ToolCall
from rxagent.requests import Origin, ToolSpec
from rxagent.tools.arguments import Misfit
from rxagent.tools.call_settings import CallSettings
from rxagent.tools.job import Submit
from rxagent.tools.report import Report, ToolEvent
from rxagent.tools.running import ToolRun
from rxagent.tools.threads import in_thread
from rxagent.tools.tool import AnyTool, is_tool
from rxagent.tools.tool_context import ToolContext
from rxagent.tools.withheld import Withheld
from rxagent.wire.arguments import parse_arguments

__all__ = ["run_call"]


def run_call(
    call: ToolCall,
    tools: Mapping[str, ToolSpec],
    *,
    context: Context,
    origin: Origin,
    messages: tuple[Message, ...] = (),
    settings: CallSettings | None = None,
    submit: Submit = in_thread,
) -> Observable[ToolEvent]:
    """Answer a call, whatever is wrong with it.

    ::

        ---p--q|                         what the tool of the call returns
        [ run_call(call, tools) ]
        S--p--q(F,|)                     S started, F finished with the result q

    An unknown tool, a call that was cut off, broken or unfitting arguments, and a tool
    that raises are results with ``is_error``, with a text that the model can act on.
    `ToolStarted` comes only if the tool really runs.

    A plain function runs in a thread of its own, async code on the loop of
    `rxagent.runtime.loop_for`; a function annotated to return an ``Observable`` is
    called while subscribing, and what it returns is subscribed on the subscription's
    scheduler, so that it runs in virtual time too.  Tools see the context variables of
    the subscriber.

    Args:
        call: As the model made it.
        tools: What may run, by name; see `tool_index`.
        context: For tools that take a `ToolContext`.
        origin: The run and the round, put on every event.
        messages: The conversation, for a tool that looks at it.
        settings: How it is run; what the tool declares wins.  A result that is longer
            than ``max_result_chars`` is cut and says so, unless the tool declares
            ``return_direct``, and `ToolFinished` carries the whole value as well.
        submit: Where a plain function runs.

    Returns:
        A cold observable of exactly one `ToolFinished`, last, and completion.  Its
        error is what is not for the model to see: a `ToolError`, raised by the tool or
        because the tool is only declared, `StreamCancelledError`, and what
        ``settings.raises`` names.  Disposing cancels async code and unsubscribes an
        observable; a function in a thread is abandoned.
    """
    settings = settings or CallSettings()
    report = Report(call=call, origin=origin, max_chars=settings.max_result_chars)

    def subscribe(
        observer: abc.ObserverBase[ToolEvent],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        try:
            tool = _tool_for(call, tools)
            arguments = _arguments_for(tool, call)
        except _RefusedError as refusal:
            observer.on_next(report.refused(str(refusal)))
            observer.on_completed()
            return Disposable()
        except ToolError as error:
            observer.on_error(error)
            return Disposable()
        run = ToolRun(
            tool,
            arguments,
            context=ToolContext(
                context=context,
                call=call,
                origin=origin,
                messages=messages,
                deadline=settings.deadline,
            ),
            report=report,
            settings=settings,
            submit=submit,
            observer=observer,
            scheduler=scheduler,
        )
        run.start()
        return run

    return Observable(subscribe)


class _RefusedError(Exception):
    """The tool must not run; the text tells the model why."""


def _tool_for(call: ToolCall, tools: Mapping[str, ToolSpec]) -> AnyTool:
    if call.truncated:
        raise _RefusedError(
            "the call was cut off by the limit on output, so it did not run; "
            "write it again, shorter"
        )
    found = tools.get(call.name)
    if found is None:
        there = [name for name, each in tools.items() if not isinstance(each, Withheld)]
        known = f"the tools are: {', '.join(there)}" if there else "there are no tools"
        raise _RefusedError(f"there is no tool {call.name!r}; {known}")
    if isinstance(found, Withheld):
        raise _RefusedError(
            f"{call.name!r} was not offered to you, so it did not run; {found.instead}"
        )
    if not is_tool(found):
        _parsed(call)  # what is broken is broken for everybody
        raise ToolError(
            call.name, "is only declared and has no function to run; pass a Tool"
        )
    return found


def _arguments_for(tool: AnyTool, call: ToolCall) -> dict[str, object]:
    try:
        checked = tool.check(_parsed(call))
    except _RefusedError:
        raise
    except ToolError:
        raise
    except Exception as error:
        raise _RefusedError(
            f"the arguments of {tool.name!r} cannot be checked, so it did not run: "
            f"{type(error).__name__}: {error}"
        ) from error
    if isinstance(checked, Misfit):
        raise _RefusedError(
            f"the arguments do not fit {tool.name!r}, so it did not run:\n{checked}"
        )
    return checked


def _parsed(call: ToolCall) -> dict[str, object]:
    try:
        return parse_arguments(call.arguments)
    except ArgumentsError as error:
        raise _RefusedError(f"{error}; {call.name!r} did not run") from None
