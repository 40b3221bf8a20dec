"""Blocks of an answer that are made of pieces."""

from __future__ import annotations

from typing import TypeAlias

from rxagent.wire.json_text import load_json

__all__ = ["Block", "OpaqueBlock", "PlainBlock", "ToolBlock"]


class PlainBlock:
    """Text or a thought, whose pieces are passed on as they come."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class ToolBlock:
    """A call of a tool.

    Args:
        number: Of the call within the answer, from 0.
        arguments: Those that its start held, as JSON text; the pieces replace them.
    """

    def __init__(self, number: int, *, arguments: str) -> None:
        self.number = number
        self._arguments = arguments

    def piece(self, arguments: str) -> str:
        """Take the next piece of the arguments; return what is new."""
        if arguments:
            self._arguments = ""
        return arguments

    def rest(self) -> str:
        """Return the arguments, if no piece of them came."""
        return self._arguments


class OpaqueBlock:
    """A block that only the provider understands: whole at once, or of pieces.

    Args:
        block: As its start held it.
    """

    def __init__(self, block: dict[str, object]) -> None:
        self._block = block
        self._grown: dict[str, list[str]] = {}
        self._input: list[str] = []

    def piece(self, delta: dict[str, object]) -> None:
        """Take a delta: arguments as JSON text, or members of the block."""
        for name, value in delta.items():
            if name == "type":
                continue
            if name == "partial_json" and isinstance(value, str):
                self._input.append(value)
            elif isinstance(value, str):
                self._grown.setdefault(name, []).append(value)
            else:
                self._block[name] = value

    def whole(self) -> dict[str, object] | None:
        """Return the block; ``None`` if it was cut off within its arguments."""
        block = dict(self._block)
        for name, pieces in self._grown.items():
            begun = block.get(name)
            start = begun if isinstance(begun, str) else ""
            block[name] = start + "".join(pieces)
        if text := "".join(self._input).strip():
            try:
                block["input"] = load_json(text)
            except ValueError:
                return None
        return block


Block: TypeAlias = PlainBlock | ToolBlock | OpaqueBlock
