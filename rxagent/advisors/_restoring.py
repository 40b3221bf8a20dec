"""The way back of values into the events of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from rxagent.advisors._masking import restored
from rxagent.advisors._placeholders import Placeholders
from rxagent.errors import AdvisorError
from rxagent.events import ChatEvent, Finished, RoundFinished
from rxagent.guards._lift import TextLift
from rxagent.guards._text_guard import Channel, Span, TextGuard
from rxagent.operators import fuse, transduce
from rxagent.types import Operator

__all__ = ["RestoreText", "restoring"]

_PROSE: Sequence[Channel] = ("reasoning",)
_TEXT: Sequence[Channel] = ("text",)
_ARGUMENTS: Sequence[Channel] = ("tool_arguments",)


def restoring(values: Placeholders, *, in_json: bool) -> Operator[ChatEvent, ChatEvent]:
    """Make an operator that puts values back into an answer.

    Args:
        values: All that can come.
        in_json: The text of the answer is that of JSON.

    Returns:
        An operator; of one subscription.
    """
    prose: TextGuard = partial(RestoreText, values)
    quoted: TextGuard = partial(RestoreText, values, in_json=True)
    lifted: list[tuple[TextGuard, Sequence[Channel]]] = [
        (prose, _PROSE if in_json else (*_TEXT, *_PROSE)),
        (quoted, (*_TEXT, *_ARGUMENTS) if in_json else _ARGUMENTS),
    ]
    steps: list[Operator[ChatEvent, ChatEvent]] = [
        transduce(partial(TextLift, each, name="pii", channels=channels))
        for each, channels in lifted
    ]
    return fuse([*steps, transduce(partial(_RestoreEnd, values, in_json=in_json))])


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
        """Take a piece; return what is decided, as one text."""
        if not self._held and "[" not in piece:  # a placeholder begins with it
            return (piece,)
        ready = "".join(span.text for span in self.feed_placed(piece))
        return (ready,) if ready else ()

    def feed_placed(self, piece: str, /) -> Iterable[Span]:
        """Take a piece; return what is decided, and what it stands for."""
        text = self._held + piece
        cut = max(text.rfind("["), 0)
        if not self._values.may_go_on(text[cut:]):
            cut = len(text)
        self._held = text[cut:]
        return self._values.spans(text[:cut], in_json=self._in_json)

    def flush(self) -> Sequence[str]:
        """Return what is held: it was no placeholder."""
        return [span.text for span in self.flush_placed()]

    def flush_placed(self) -> Sequence[Span]:
        """Return what is held, and that it is as it was."""
        held, self._held = self._held, ""
        return (Span(held, len(held), is_kept=True),) if held else ()


class _RestoreEnd:
    """Puts values back into the response that ends an answer."""

    def __init__(self, values: Placeholders, *, in_json: bool) -> None:
        self._values = values
        self._in_json = in_json

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        if isinstance(event, Finished):
            whole = restored(event.response, self._values, in_json=self._in_json)
            return (replace(event, response=whole),)
        if isinstance(event, RoundFinished):
            raise AdvisorError(
                "pii",
                "stands left of the tool loop, where it does not see what tools return "
                "and tools would get placeholders; name the loop in front of it, as in "
                "advisors=[tool_loop(), pii(...)]",
            )
        return (event,)

    def flush(self) -> Sequence[ChatEvent]:
        return ()
