"""From what a tool returned to what the model will see."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, MappingView, Sequence, Set
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any, TypeGuard

from pydantic_core import to_json, to_jsonable_python

from rxagent.messages import Audio, File, Image, Text, UserPart
from rxagent.responses import ChatResponse
from rxagent.tools.truncate import truncate
from rxagent.wire.json_text import dump_json
from rxagent.wire.surrogates import join_surrogates

__all__ = ["content_of", "described"]

_PARTS = (Text, Image, Audio, File)
_REPR_CHARS = 1_000

# For what pydantic does not know.  By the abstract classes that a type declares:
# tables and arrays, which only look like collections, are best shown by their repr.
_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], object]], ...] = (
    (Mapping, dict),
    (memoryview, bytes),
    ((Sequence, Set, MappingView), list),
    (Integral, int),
    (Real, float),
    (PathLike, fspath),
)


def content_of(value: object, *, max_chars: int | None = None) -> tuple[UserPart, ...]:
    """Return ``value`` as the content of a message; never fails.

    * ``str`` as it is;
    * `Text`, `Image`, `Audio`, `File`, or a list or tuple of them, as they are; texts
      may stand among them as plain ``str``;
    * a `ChatResponse` as its text;
    * ``bytes`` as the text that they are in UTF-8, else as JSON with their base64;
    * everything else as JSON: pydantic models, dataclasses, enums, dates, sets …, and
      ``None`` as ``null``.  What JSON cannot say inside it is its ``repr``,
      and iterators are read to their end;
    * what cannot be JSON at all, such as a list that contains itself, as its ``repr``,
      of at most 1,000 characters.

    Halves of surrogate pairs, which no wire can carry, become U+FFFD.

    Args:
        value: Whatever a tool returned.
        max_chars: Longest text, in characters; what is longer is cut and says so.

    Returns:
        The parts of a `ToolMessage`, at least one.

    Raises:
        ValueError: If ``max_chars`` is too small to say so.
    """
    parts = _parts(value)
    return parts if max_chars is None else truncate(parts, max_chars)


def described(value: object) -> str:
    """Return the ``repr`` of ``value``, shortened, whatever its ``repr`` does."""
    try:
        text = join_surrogates(repr(value))
    except Exception:  # noqa: BLE001 - it is the object's own code
        return f"<a {type(value).__name__} that cannot be shown>"
    return text if len(text) <= _REPR_CHARS else f"{text[: _REPR_CHARS - 1]}…"


def _parts(value: object) -> tuple[UserPart, ...]:
    try:
        if isinstance(value, _PARTS):
            return (_part(value),)
        if _is_content(value):
            return tuple(_part(each) for each in value)
        text = _text(value)
    except Exception:  # noqa: BLE001 - properties and serializers are anybody's code
        text = described(value)
    return (Text(text=text),)


def _is_content(value: object) -> TypeGuard[Sequence[str | UserPart]]:
    # A list of plain strings is data, and stays a list.
    return (
        _is_sequence(value)
        and any(isinstance(each, _PARTS) for each in value)
        and all(isinstance(each, (str, *_PARTS)) for each in value)
    )


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, (list, tuple))


def _is_binary(value: object) -> TypeGuard[bytes | bytearray | memoryview]:
    return isinstance(value, (bytes, bytearray, memoryview))


def _part(part: str | UserPart) -> UserPart:
    if isinstance(part, str):
        return Text(text=_well_formed(part))
    if isinstance(part, Text):
        text = _well_formed(part.text)
        return part if text is part.text else Text(text=text)
    return part


def _text(value: object) -> str:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, ChatResponse):  # of an agent that is a tool
        return _well_formed(value.text)
    if _is_binary(value):
        return _text_of_bytes(bytes(value))
    try:
        encoded = to_json(
            value, fallback=_plain, inf_nan_mode="strings", bytes_mode="base64"
        )
    except ValueError:
        # Half of a surrogate pair in a text: the slower way can mend it.
        encoded = dump_json(
            to_jsonable_python(
                value, fallback=_plain, inf_nan_mode="strings", bytes_mode="base64"
            )
        )
    return encoded.decode()


def _plain(value: object) -> object:
    try:
        for kinds, convert in _CONVERSIONS:
            if isinstance(value, kinds):
                return convert(value)
    except Exception:  # noqa: BLE001 - it is the object's own code
        return described(value)
    return described(value)


def _text_of_bytes(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    whole = {"bytes": len(data), "base64": base64.b64encode(data).decode()}
    return dump_json(whole).decode()


def _well_formed(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return join_surrogates(text)
    return text if type(text) is str else str.__str__(text)
