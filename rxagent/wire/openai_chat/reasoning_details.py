"""Reasoning that OpenRouter wants back as it came: signed, encrypted or summed up."""

from __future__ import annotations

from rxagent.wire.json_text import is_array, is_object

__all__ = ["MEMBER", "ReasoningDetails", "text_of_details"]

MEMBER = "reasoning_details"
_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}


class ReasoningDetails:
    """Put the details of an answer together, in their order.

    A piece of a text or of a summary grows the last detail of its type, index and id;
    a signature closes it.  All else comes whole.

    Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
    """

    def __init__(self) -> None:
        self._details: list[tuple[dict[str, object], list[str]]] = []

    def feed(self, pieces: object) -> None:
        """Take what a chunk holds of them."""
        for piece in pieces if is_array(pieces) else ():
            if is_object(piece):
                self._feed(piece)

    def whole(self) -> list[dict[str, object]]:
        """Return them, once the stream has ended and not before."""
        return [
            {**detail, _name(detail): "".join(texts)} if texts else detail
            for detail, texts in self._details
        ]

    def _feed(self, piece: dict[str, object]) -> None:
        name = _name(piece)
        text = piece.get(name) if name else None
        found = self._last_like(piece) if name else None
        if found is None or (text and found[0].get("signature")):
            found = dict(piece), list[str]()
            self._details.append(found)
        detail, texts = found
        detail.update({key: each for key, each in piece.items() if each is not None})
        if isinstance(text, str):
            texts.append(text)

    def _last_like(
        self, piece: dict[str, object]
    ) -> tuple[dict[str, object], list[str]] | None:
        for found in reversed(self._details):
            if _same(found[0], piece):
                return found
            if piece.get("index") is None:
                break  # without a number, only the last can go on
        return None


def text_of_details(pieces: object) -> str:
    """What can be read of the pieces of a chunk."""
    said = [
        piece.get(_name(piece))
        for piece in (pieces if is_array(pieces) else ())
        if is_object(piece)
    ]
    return "".join(text for text in said if isinstance(text, str))


def _name(detail: dict[str, object]) -> str:
    """The member that grows; empty if none does."""
    return _GROWING.get(str(detail.get("type")), "")


def _same(detail: dict[str, object], piece: dict[str, object]) -> bool:
    ids = detail.get("id"), piece.get("id")
    return (
        detail.get("type") == piece.get("type")
        and detail.get("index") == piece.get("index")
        and (None in ids or ids[0] == ids[1])
    )
