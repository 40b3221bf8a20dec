"""Events as a person reads them."""

from __future__ import annotations

from typing import TextIO

from rxagent.cli.visible import visible
from rxagent.events import (
    ApprovalRequested,
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    StageFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from rxagent.responses import ChatResponse

__all__ = ["Terminal"]

_PREVIEW_CHARS = 100


class Terminal:
    """Text to one stream as it comes, everything else as lines to another.

    Args:
        out: Takes the text; flushed at each piece.  A terminal gets no character that
            would steer it, anything else gets the text as it is.
        notes: Takes the lines, which steer nothing.
    """

    def __init__(self, *, out: TextIO, notes: TextIO) -> None:
        self._out = out
        self._notes = notes
        self._is_screen = out.isatty()
        self._line_is_open = False
        self._has_text = False  # of the round that runs
        self._thinks = False

    def show(self, event: ChatEvent) -> None:
        """Show what there is to show of an event."""
        match event:
            case TextDelta(text=text):
                self._write(text)
            case ReasoningDelta() if not self._thinks:
                self._thinks = True
                self._note("(thinking)")
            case ToolStarted(call=call):
                self._note(f"-> {call.name} {_short(call.arguments)}")
            case ToolProgress(call=call, value=value):
                self._note(f".. {call.name}: {_short(str(value))}")
            case ToolFinished(call=call, message=message):
                failed = " failed" if message.is_error else ""
                self._note(f"<- {call.name}{failed}: {_short(message.text)}")
            case ApprovalRequested(call=call):
                self._note(f"?? {call.name} waits for approval")
            case StageFinished(stage=stage, problem=problem):
                end = f"left out: {_short(problem)}" if problem else "done"
                self._note(f"({stage} {end})")
            case RoundFinished():
                if self._has_text:
                    self._note("(that was interim text; tools run now)")
                self._has_text = self._thinks = False
            case Retracted(reason=reason):
                # Paper has no eraser: what is out is said to be void.
                if self._has_text:
                    self._note(f"(the text above is void: {reason})")
                self._has_text = self._thinks = False
            case Finished(response=response):
                self._end(response)
            case _:
                pass  # pieces of tool calls, and kinds that are newer than this

    def end_line(self) -> None:
        """Leave the cursor at the start of a line."""
        if self._line_is_open:
            self._write("\n")

    def _end(self, response: ChatResponse) -> None:
        ending = _ending(response)
        if ending:
            self._note(f"({ending})")
        elif not self._has_text:
            self._note("(the model answered without text)")

    def _write(self, text: str) -> None:
        if text:
            self._has_text = True
            self._line_is_open = not text.endswith("\n")
            self._out.write(visible(text) if self._is_screen else text)
            self._out.flush()

    def _note(self, line: str) -> None:
        self.end_line()
        print(visible(line), file=self._notes, flush=True)


def _ending(response: ChatResponse) -> str:
    if response.blocked_by is not None:
        return f"blocked by {response.blocked_by}"
    if response.limit is not None:
        return response.limit.message
    match response.finish_reason:
        case "stop" | "return_direct":
            return ""
        case "length":
            return "the answer was cut off by the limit on tokens; raise --max-tokens"
        case "content_filter":
            return "the provider's content filter ended the answer"
        case "refusal":
            return f"the model refused: {_short(response.message.refusal)}"
        case reason:
            return f"the answer ended with {response.finish_reason_raw or reason!r}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _PREVIEW_CHARS else f"{line[:_PREVIEW_CHARS]}..."
