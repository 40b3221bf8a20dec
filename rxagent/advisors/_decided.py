"""What was decided about a call, carried out."""

from __future__ import annotations

from dataclasses import replace

from rxagent.advisors._turn import Turn
from rxagent.decisions import Approve, Reject, Reply
from rxagent.events import ToolFinished
from rxagent.messages import ToolCall, ToolMessage
from rxagent.tools.report import Report
from rxagent.tools.result import content_of
from rxagent.wire.json_text import dump_json


def carried_out(turn: Turn, call: ToolCall, report: Report) -> ToolCall | ToolFinished:
    """The call that runs, perhaps with other arguments, or its result if none does.

    Args:
        turn: Of which the call is; what nothing was decided about runs.
        call: As the model made it.
        report: Of the call.
    """
    match turn.decided.get(id(call), Approve()):
        case Approve(arguments=arguments) if arguments is not None:
            return turn.edited(call, dump_json(dict(arguments)).decode())
        case Approve():
            return call
        case Reject(reason=reason):
            said = f"the call was declined: {reason}" if reason else ""
            return report.refused(said or "the call was declined")
        case Reply(content):
            parts = (content,) if isinstance(content, str) else content
            message = ToolMessage.of(*parts, call=call)
            if message.content:
                shown = content_of(message.content, max_chars=report.max_chars)
                message = replace(message, content=shown)
            return ToolFinished(
                call=call,
                message=message,
                value=content,
                attempts=0,
                origin=turn.request.origin,
            )
