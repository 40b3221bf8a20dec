"""The way back of values into the events of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from rxagent.advisors._masking import restored
from rxagent.advisors._placeholders import Placeholders
from rxagent.errors import AdvisorError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)

__all__ = ["RestoreText", "RestoreValues"]

_Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta


class RestoreText:
    """Puts values back into text whose placeholders may be cut anywhere.

    Args:
        values: All that can come.
        in_json: The text is that of JSON.
    """

    def __init__(self, values: Placeholders, *, in_json: bool = False) -> None:
        self._values = values
        self._in_json = in_json
        self._held = ""

    @property
    def held(self) -> int:
        """How many characters are not decided."""
        return len(self._held)

    def feed(self, piece: str, /) -> Sequence[str]:
        """Take a piece; return what is decided."""
        text = self._held + piece
        cut = text.rfind("[")  # a placeholder has no other
        if cut < 0:
            return (text,) if text else ()
        if not self._values.may_go_on(text[cut:]):
            cut = len(text)
        self._held = text[cut:]
        return (self._restored(text[:cut]),) if cut else ()

    def flush(self) -> Sequence[str]:
        """Return what is held: it was no placeholder."""
        held, self._held = self._held, ""
        return (held,) if held else ()

    def _restored(self, text: str) -> str:
        return self._values.restored(text, in_json=self._in_json)


class RestoreValues:
    """Puts values back into the events of one answer.

    Each text of it is restored by itself, each call's arguments too.  What is held of
    one text holds up no other event, but for those that end the answer.

    Args:
        values: All that can come.
    """

    def __init__(self, values: Placeholders) -> None:
        self._values = values
        self._texts: dict[type | int, tuple[RestoreText, _Delta]] = {}

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Take an event; return what is ready."""
        match event:
            case ToolCallDelta():
                return self._delta(event, event.index, event.arguments)
            case TextDelta() | ReasoningDelta():
                return self._delta(event, type(event), event.text)
            case RoundFinished():
                raise AdvisorError(
                    "pii",
                    "stands left of the tool loop, where it does not see what tools "
                    "return, and tools would get placeholders; put it right of it, as "
                    "in advisors=[..., tool_loop(), pii()]",
                )
            case Retracted():
                self._texts.clear()
                return (event,)
            case Finished(response=response):
                whole = replace(event, response=restored(response, self._values))
                return (*self.flush(), whole)
            case _:
                return (event,)

    def flush(self) -> Sequence[ChatEvent]:
        """Return what is held of any text."""
        left = [
            _rest(delta, piece)
            for text, delta in self._texts.values()
            for piece in text.flush()
        ]
        self._texts.clear()
        return left

    def _delta(self, delta: _Delta, key: type | int, piece: str) -> Sequence[ChatEvent]:
        known = self._texts.get(key)
        if known is not None:
            text = known[0]
        elif "[" in piece:
            text = RestoreText(self._values, in_json=isinstance(key, int))
        else:
            return (delta,)
        ready = "".join(text.feed(piece))
        if text.held:
            self._texts[key] = (text, delta)
        else:
            self._texts.pop(key, None)
        if ready == piece:
            return (delta,)
        names_call = isinstance(delta, ToolCallDelta) and (delta.id or delta.name)
        return (_with_text(delta, ready),) if ready or names_call else ()


def _with_text(delta: _Delta, text: str) -> _Delta:
    if isinstance(delta, ToolCallDelta):
        return replace(delta, arguments=text)
    return replace(delta, text=text)


def _rest(delta: _Delta, text: str) -> _Delta:
    """What follows ``delta``; a call has said its name already."""
    if isinstance(delta, ToolCallDelta):
        delta = replace(delta, id=None, name=None)
    return _with_text(delta, text)
