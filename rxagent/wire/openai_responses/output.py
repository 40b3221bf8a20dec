"""The output of an answer, from pieces and from items that are told whole."""

from __future__ import annotations

from typing import TypeAlias

from rxagent.events import ChatEvent, ReasoningDelta, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.requests import Origin
from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.openai_responses.answer import message_of
from rxagent.wire.openai_responses.items import Channel, Name, OutputItem, OutputItems
from rxagent.wire.openai_responses.whole_item import Part, parts_of, text_of
from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates
from rxagent.wire.tool_calls import ToolCallAssembler

__all__ = ["Output"]


_Place: TypeAlias = tuple[OutputItem, Channel, int]


class Output:
    """Make events and a message of an output.

    What an item says whole adds what its pieces have not brought.  Where it says
    something else it counts, and is not delivered again.

    Methods append the events to ``out``, and raise `ValueError` for what is not as it
    should be.

    Args:
        origin: Of the events.
        dialect: Of the parts that only the provider understands.
    """

    def __init__(self, origin: Origin, *, dialect: str) -> None:
        self._origin = origin
        self._dialect = dialect
        self._items = OutputItems()
        self._calls = ToolCallAssembler(origin)
        self._last: _Place | None = None
        self._joiner: SurrogateJoiner[_Place] | None = None

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._joiner = self._joiner or SurrogateJoiner()

    def piece(
        self,
        name: Name,
        channel: Channel,
        part: int,
        delta: object,
        out: list[ChatEvent],
    ) -> None:
        """Take a piece of a part of an item."""
        text = text_of(delta)
        item = self._items.of_piece(name)
        self._last = item, channel, part
        if self._joiner:
            text = self._joiner.feed((item, channel, part), text)
        self._say(item, channel, part, text, out)

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece of the part that the last one was of."""
        assert self._last is not None
        self._say(*self._last, piece, out)

    def announced(self, data: object, index: int | None, out: list[ChatEvent]) -> None:
        """Take the beginning of an item, of which only the names are final."""
        whole = _object(data)
        name = self._name(whole, index)
        item = self._items.announced(name)
        if name.kind == "function_call":
            self._identify(item, whole, out)

    def done(self, data: object, index: int | None, out: list[ChatEvent]) -> None:
        """Take an item that is told whole."""
        whole = _object(data)
        self._whole(self._items.done(self._name(whole, index)), whole, out)

    def final(self, output: object, out: list[ChatEvent]) -> None:
        """Take the whole output, in its final order."""
        if not is_array(output):
            raise ValueError("the output is no array")
        whole = [_object(each) for each in output]
        names = [self._name(data, index) for index, data in enumerate(whole)]
        for item, data in zip(self._items.final(names), whole, strict=True):
            self._whole(item, data, out)

    def text_so_far(self) -> str:
        """All text that has come, though the answer has not ended."""
        return "".join(
            piece
            for item in self._items
            for (channel, _), pieces in item.pieces.items()
            if channel == "text"
            for piece in pieces
        )

    def message(self, out: list[ChatEvent], *, truncated: bool) -> AssistantMessage:
        """Return the message, once the answer has ended.

        Args:
            out: Takes what waited.
            truncated: Whether it was cut off; its last call must not run.
        """
        self._settle(out)
        calls = self._calls.calls(truncated=truncated)
        return message_of(self._items, calls, dialect=self._dialect)

    def word(self, value: object) -> str | None:
        """A string that is never cut; ``None`` if it is none, or empty."""
        if not isinstance(value, str) or not value:
            return None
        return join_surrogates(value) if self._joiner else value

    def _say(
        self,
        item: OutputItem,
        channel: Channel,
        part: int,
        text: str,
        out: list[ChatEvent],
    ) -> None:
        if not text:
            return
        item.add(channel, part, text)
        if channel == "text":
            out.append(TextDelta(text=text, origin=self._origin))
        elif channel in ("summary", "thought"):
            out.append(ReasoningDelta(text=text, origin=self._origin))
        elif channel == "arguments":
            self._call(item, out, arguments=text)

    def _identify(
        self, item: OutputItem, data: dict[str, object], out: list[ChatEvent]
    ) -> None:
        self._call(
            item,
            out,
            id=self.word(data.get("call_id")) or self.word(data.get("id")),
            name=self.word(data.get("name")),
        )

    def _call(
        self,
        item: OutputItem,
        out: list[ChatEvent],
        *,
        id: str | None = None,  # noqa: A002 - the name on the wire
        name: str | None = None,
        arguments: str = "",
    ) -> None:
        before = len(self._calls)
        delta = self._calls.feed(
            index=item.number, id=id, name=name, arguments=arguments
        )
        if len(self._calls) > before:
            item.call = before
        if delta:
            out.append(delta)

    def _whole(
        self, item: OutputItem, data: dict[str, object], out: list[ChatEvent]
    ) -> None:
        """Take what an item says more than its pieces did."""
        self._settle(out)
        item.data = item.data or data
        if item.kind == "function_call":
            self._identify(item, data, out)
        parts = [self._joined(part) for part in parts_of(item.kind, data)]
        whole: dict[Channel, dict[int, str]] = {}
        for channel, part, text in parts:
            whole.setdefault(channel, {})[part] = text
        known = {channel: _known(item, channel, whole[channel]) for channel in whole}
        for channel, part, text in parts:
            self._say(item, channel, part, text[known[channel] :], out)
            known[channel] = max(known[channel] - len(text), 0)

    def _joined(self, part: Part) -> Part:
        channel, number, text = part
        return (channel, number, join_surrogates(text)) if self._joiner else part

    def _settle(self, out: list[ChatEvent]) -> None:
        """Wait no longer for halves of pairs."""
        for (item, channel, part), text in self._joiner.flush() if self._joiner else ():
            self._say(item, channel, part, text, out)

    def _name(self, data: dict[str, object], index: int | None) -> Name:
        return Name(
            kind=self.word(data.get("type")) or "message",
            id=self.word(data.get("id")),
            call_id=self.word(data.get("call_id")),
            index=index,
        )


def _object(value: object) -> dict[str, object]:
    if not is_object(value):
        raise ValueError("an item is no object")
    return value


def _known(item: OutputItem, channel: Channel, whole: dict[int, str]) -> int:
    """How much of a channel has come already, in characters."""
    said, text = item.said(channel), "".join(whole.values())
    if text.startswith(said):
        return len(said)
    if not said.startswith(text):  # else it was told too early
        item.correct(channel, whole)
    return len(text)
