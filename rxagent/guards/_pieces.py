"""Events that are pieces of a text, and the same with other text in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rxagent.events import ReasoningDelta, TextDelta, ToolCallDelta

__all__ = ["Piece", "continued", "pieces_of", "text_of"]

Piece: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta


def text_of(piece: Piece) -> str:
    """The text of a piece that a guard may see."""
    return piece.arguments if isinstance(piece, ToolCallDelta) else piece.text


def pieces_of(piece: Piece, texts: Iterable[str]) -> Sequence[Piece]:
    """Return ``piece`` with other texts: one event for each.

    The first one of a tool call says its id and name, even if no text is left of it.

    Raises:
        TypeError: If a guard made something else than text.
    """
    texts = tuple(texts)
    if len(texts) == 1 and texts[0] == text_of(piece):
        return (piece,)
    if isinstance(piece, ToolCallDelta) and (piece.id or piece.name):
        first = ToolCallDelta(
            index=piece.index,
            id=piece.id,
            name=piece.name,
            arguments=_checked(texts[0]) if texts else "",
            origin=piece.origin,
        )
        return (first, *(_piece(piece, text) for text in texts[1:]))
    return [_piece(piece, text) for text in texts]


def continued(piece: Piece) -> Piece:
    """What follows ``piece``, without text yet."""
    return _piece(piece, "")


def _piece(like: Piece, text: str) -> Piece:
    _checked(text)
    match like:
        case TextDelta(origin=origin):
            return TextDelta(text=text, origin=origin)
        case ReasoningDelta(origin=origin):
            return ReasoningDelta(text=text, origin=origin)
        case ToolCallDelta(index=index, origin=origin):
            return ToolCallDelta(index=index, arguments=text, origin=origin)


def _checked(text: str) -> str:
    if not isinstance(text, str):  # an operator may make anything of text
        raise TypeError(f"a guard made a {type(text).__name__} where text belongs")
    return text
