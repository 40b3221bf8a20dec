"""Events that are pieces of a text, and the same with other text in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rxagent.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from rxagent.requests import Origin

__all__ = ["continued", "pieces_of", "text_delta", "text_of"]

_new = object.__new__
_set_text = vars(TextDelta)["text"].__set__
_set_origin = vars(TextDelta)["origin"].__set__


def text_of(piece: Delta) -> str:
    """The text of a piece that a guard may see."""
    return piece.arguments if isinstance(piece, ToolCallDelta) else piece.text


def pieces_of(piece: Delta, texts: Iterable[str]) -> Sequence[Delta]:
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


def continued(piece: Delta) -> Delta:
    """What follows ``piece``, without text yet."""
    return _piece(piece, "")


def text_delta(text: str, origin: Origin) -> TextDelta:
    """Make a piece of text in less than half of the time that its own class takes.

    The ``__init__`` of a frozen dataclass looks up each slot anew.
    """
    made = _new(TextDelta)
    _set_text(made, _checked(text))
    _set_origin(made, origin)
    return made


def _piece(like: Delta, text: str) -> Delta:
    _checked(text)
    match like:
        case TextDelta(origin=origin):
            return text_delta(text, origin)
        case ReasoningDelta(origin=origin):
            return ReasoningDelta(text=text, origin=origin)
        case ToolCallDelta(index=index, origin=origin):
            return ToolCallDelta(index=index, arguments=text, origin=origin)


def _checked(text: str) -> str:
    if not isinstance(text, str):  # an operator may make anything of text
        raise TypeError(f"a guard made a {type(text).__name__} where text belongs")
    return text
