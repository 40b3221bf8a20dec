"""Make calls of their pieces, as real servers cut them."""

from __future__ import annotations

import re
from uuid import uuid4

from rxagent.events import ToolCallDelta
from rxagent.messages import ToolCall
from rxagent.requests import Origin

__all__ = ["ToolCallAssembler"]


class ToolCallAssembler:
    """Make calls of the pieces of one answer.

    Pieces belong together by their index.  The same index with another id is another
    call, and so is a further object on a call whose arguments are whole.  Without an
    index a new id or a name begins a call, and a bare piece continues the last one.  An
    empty id or name is absent.  Ids end up unique; a missing one is made up.
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._calls: list[_Call] = []
        self._by_index: dict[int, int] = {}
        self._by_wire_id: dict[str, int] = {}
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._calls)

    def feed(
        self,
        *,
        index: int | None = None,
        id: str | None = None,  # noqa: A002 - the name on the wire
        name: str | None = None,
        arguments: str = "",
    ) -> ToolCallDelta | None:
        """Take a piece of a call.

        Args:
            index: The provider's number of the call.
            id: The provider's id of the call.
            name: The tool, or the next piece of its name.
            arguments: The next piece of JSON text.

        Returns:
            What is new in it, under our own number of the call; ``None`` if nothing is.
        """
        if not (id or name or arguments):
            return None
        position = self._find(index, id, name)
        if position is not None and self._calls[position].repeats(id, arguments):
            return None
        if position is None or self._calls[position].is_over(id, name, arguments):
            position = self._begin(index)
        call = self._calls[position]
        new_id = self._identify(position, id) if id and not call.wire_id else None
        new_name = name if name and name != call.name else None
        if new_name:
            call.name += new_name
        if arguments:
            call.add(arguments)
        elif not (new_id or new_name):
            return None
        return ToolCallDelta(
            index=position,
            id=new_id,
            name=new_name,
            arguments=arguments,
            origin=self._origin,
        )

    def calls(self, *, truncated: bool) -> list[ToolCall]:
        """Return all calls, once the stream has ended and not before.

        Args:
            truncated: Whether the answer was cut off; the last call must not run, even
                if its arguments happen to parse.
        """
        last = len(self._calls) - 1
        return [
            ToolCall(
                id=call.id or _made_up_id(),
                name=call.name,
                arguments="".join(call.pieces) or "{}",
                truncated=truncated and position == last,
            )
            for position, call in enumerate(self._calls)
        ]

    def _find(self, index: int | None, id: str | None, name: str | None) -> int | None:  # noqa: A002
        last = len(self._calls) - 1 if self._calls else None
        if index is not None:
            found = self._by_index.get(index)
            if found is None and not (id or name) and last is not None:
                # Some servers count pieces: a bare one completes what is open.
                return None if self._calls[last].is_whole() else last
            return found
        if id:
            return self._by_wire_id.get(id)
        if name and last is not None and self._calls[last].name:
            return None
        return last

    def _begin(self, index: int | None) -> int:
        position = len(self._calls)
        self._calls.append(_Call())
        if index is not None:
            self._by_index[index] = position
        return position

    def _identify(self, position: int, wire_id: str) -> str:
        call = self._calls[position]
        call.wire_id = wire_id
        call.id = _made_up_id() if wire_id in self._ids else wire_id
        self._ids.add(call.id)
        self._by_wire_id[wire_id] = position
        return call.id


def _made_up_id() -> str:
    return f"call_{uuid4().hex[:24]}"


class _Call:
    """A call in the making."""

    __slots__ = ("_length", "_nesting", "_seen", "id", "name", "pieces", "wire_id")

    def __init__(self) -> None:
        self.wire_id: str | None = None
        self.id: str | None = None
        self.name = ""
        self.pieces: list[str] = []
        self._nesting = _Nesting()
        self._seen = 0
        self._length = 0

    def add(self, arguments: str) -> None:
        if self.pieces == ["{}"] and arguments.lstrip().startswith("{"):
            # Some servers open with an empty object and then send the real one.
            self.pieces = []
            self._nesting = _Nesting()
            self._seen = self._length = 0
        self.pieces.append(arguments)
        self._length += len(arguments)

    def is_whole(self) -> bool:
        """Whether the arguments are an object that has been closed."""
        while self._seen < len(self.pieces):
            self._nesting.feed(self.pieces[self._seen])
            self._seen += 1
        return self._nesting.is_closed

    def repeats(self, wire_id: str | None, arguments: str) -> bool:
        """Whether a piece with our id says the whole call once more."""
        return (
            bool(wire_id)
            and wire_id == self.wire_id
            and len(arguments) == self._length
            and arguments == "".join(self.pieces)
            and self.is_whole()
        )

    def is_over(self, wire_id: str | None, name: str | None, arguments: str) -> bool:
        """Whether a piece belongs to another call."""
        if wire_id and self.wire_id and wire_id != self.wire_id:
            return True
        if not (wire_id or name) or not arguments.strip() or not self.is_whole():
            return False
        return self.pieces != ["{}"] or _Nesting.closes(arguments)


class _Nesting:
    """Follows the brackets of JSON text that is fed in pieces, each once."""

    __slots__ = ("_depth", "_escape", "_in_string", "is_closed")

    _MARKS = re.compile(r'\\.|\\\Z|["{}\[\]]', re.DOTALL)

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escape = ""  # a backslash at the end of a piece
        self.is_closed = False

    @classmethod
    def closes(cls, text: str) -> bool:
        nesting = cls()
        nesting.feed(text)
        return nesting.is_closed

    def feed(self, piece: str) -> None:
        text, self._escape = self._escape + piece, ""
        for mark in self._MARKS.findall(text):
            if mark == "\\":
                self._escape = mark
            elif mark == '"':
                self._in_string = not self._in_string
            elif self._in_string or mark[0] == "\\":
                continue
            elif mark in "{[":
                self._depth += 1
                self.is_closed = False
            else:
                self._depth -= 1
                self.is_closed = self._depth == 0
