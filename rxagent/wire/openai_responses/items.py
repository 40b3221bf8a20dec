"""The items of an answer's output, while they come."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Channel", "Name", "OutputItem", "OutputItems"]

Channel: TypeAlias = Literal["text", "refusal", "summary", "thought", "arguments"]
"""What a piece of an item belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What an event says of the item that it is about; ``None`` is left out.

    Args:
        kind: The item's type on the wire.
        id: The item's id.
        call_id: The id of the call, if the item is one.
        index: The item's place in the output.
    """

    kind: str
    id: str | None = None
    call_id: str | None = None
    index: int | None = None


class OutputItem:
    """One item in the making."""

    __slots__ = (
        "arguments",
        "call",
        "call_id",
        "data",
        "kind",
        "number",
        "pieces",
    )

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number
        """How many items came before."""
        self.call: int | None = None
        """Which call of the answer it is."""
        self.call_id: str | None = None
        self.arguments: str | None = None
        """Of the call, if its pieces did not add up to them."""
        self.data: dict[str, object] | None = None
        """The whole of it, once it is done."""
        self.pieces: dict[tuple[Channel, int], list[str]] = {}
        """What came of each of its parts."""

    def add(self, channel: Channel, part: int, piece: str) -> None:
        """Take a piece of a part."""
        self.pieces.setdefault((channel, part), []).append(piece)

    def correct(self, channel: Channel, parts: dict[int, str]) -> None:
        """Put the parts of a channel in the place of what came on it."""
        for each in [key for key in self.pieces if key[0] == channel]:
            del self.pieces[each]
        for part, text in parts.items():
            self.add(channel, part, text)
        if channel == "arguments":
            self.arguments = "".join(parts.values())

    def said(self, channel: Channel) -> str:
        """Everything that came on a channel."""
        parts = (part for (each, _), part in self.pieces.items() if each == channel)
        return "".join("".join(part) for part in parts)


class OutputItems:
    """Which item an event is about.

    Servers leave out indexes, give several items the same one, or change an item's id
    between its events.  So an item is looked for by its id, then by its place, then it
    is the last one; and always among those of its kind.
    """

    def __init__(self) -> None:
        self._items: list[OutputItem] = []
        self._by_id: dict[tuple[str, str], OutputItem] = {}
        self._by_place: dict[tuple[str, int], OutputItem] = {}
        self._last: dict[str, OutputItem] = {}

    def __iter__(self) -> Iterator[OutputItem]:
        return iter(self._items)

    def of_piece(self, name: Name) -> OutputItem:
        """The item that a piece belongs to, announced or not."""
        return self._known(name) or self._elsewhere(name) or self._begin(name)

    def announced(self, name: Name) -> OutputItem:
        """The item that begins: a new one, unless it is announced twice."""
        found = self._by_id.get((name.kind, name.id or name.call_id or ""))
        return found or self._begin(name)

    def done(self, name: Name) -> OutputItem:
        """The item that is told whole."""
        found = self._known(name)
        if found is None:
            found = self._elsewhere(name)
            if found and (found.data is not None or _is_other_call(found, name)):
                found = None
        return self._note(found, name) if found else self._begin(name)

    def final(self, names: Sequence[Name]) -> list[OutputItem]:
        """The items of a finished output, which is the order from now on.

        An output that lacks items which came before changes no order.
        """
        found = [self._known(name) for name in names]
        named = set(found)
        waiting: defaultdict[str, deque[OutputItem]] = defaultdict(deque)
        for item in self._items:
            if item not in named:
                waiting[item.kind].append(item)
        output: list[OutputItem] = []
        for known, name in zip(found, names, strict=True):
            same = waiting[name.kind]
            item = known or (same.popleft() if same else self._begin(name))
            output.append(item)
        if len(set(output)) == len(self._items):
            self._items = output
        return output

    def _known(self, name: Name) -> OutputItem | None:
        for each in (name.id, name.call_id):
            found = self._by_id.get((name.kind, each)) if each else None
            if found:
                return found
        return None

    def _elsewhere(self, name: Name) -> OutputItem | None:
        if name.index is None:
            return self._last.get(name.kind)
        return self._by_place.get((name.kind, name.index))

    def _begin(self, name: Name) -> OutputItem:
        item = OutputItem(name.kind, len(self._items))
        self._items.append(item)
        self._last[name.kind] = item
        if name.index is not None:
            self._by_place[name.kind, name.index] = item
        return self._note(item, name)

    def _note(self, item: OutputItem, name: Name) -> OutputItem:
        for each in (name.id, name.call_id):
            if each:
                self._by_id[name.kind, each] = item
        item.call_id = item.call_id or name.call_id
        return item


def _is_other_call(item: OutputItem, name: Name) -> bool:
    return None not in (item.call_id, name.call_id) and item.call_id != name.call_id
