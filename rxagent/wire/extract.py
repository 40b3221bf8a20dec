"""JSON out of prose: what a model meant, among what it wrote around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from pydantic_core import from_json

from rxagent.errors import NoJsonError
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["extract_json"]

# A string may hold raw newlines, which small models write.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OPENING = re.compile(r"[{\[]")
_BEGUN = re.compile(r"\s*+(?:`{3,}+\w*+\s*+)?+(?=[{\[])")
_SHOWN_CHARS = 20
_TOKEN = re.compile(
    rf"\s++|(?P<string>{_STRING})|[{{}}\[\],:]|-?\d[\d.eE+-]*+|true|false|null",
    re.DOTALL,
)
# Here a string may run to the end of the text, so that it is tried only once.
_LAST_COMMA = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|,(\s*+[}\]])', re.DOTALL
)
# A number that is too large is read as infinity, and JSON has none.
_MAY_BE_INFINITE = re.compile(r"\d[eE]\+?\d{3}|(?<!\d)\d{309}")
_CLOSING = {"{": "}", "[": "]"}


def extract_json(text: str, *, fits: Callable[[object], bool] | None = None) -> object:
    """Find the JSON that is meant in what a model wrote, in linear time.

    Thoughts before the answer, fences and prose around it are skipped.  Commas before a
    closing bracket and raw control characters in strings are mended.

    Args:
        text: The whole answer.
        fits: Whether a value is of the kind that was asked for.

    Returns:
        The whole text, if it is JSON.  Else the last object or array that fits; else
        the last object, or the last array, so that a check can say what is wrong.

    Raises:
        NoJsonError: If there is none; a sentence that the model can act on.
    """
    answer = _without_thoughts(text)
    try:
        return _load(answer)
    except ValueError:
        pass
    found = list(_values(answer))
    for is_meant in (fits or is_object, is_object, is_array):
        for value in reversed(found):
            if is_meant(value):
                return value
    raise NoJsonError(
        f"the answer holds no complete JSON object or array{_where_broken(answer)}; "
        "answer with JSON alone",
        text=text,
    )


def _where_broken(answer: str) -> str:
    """What is wrong with JSON that begins the answer, so that a model can mend it."""
    begun = _BEGUN.match(answer)
    if begun is None:
        return ""
    try:
        dump_json(json.loads(answer[begun.end() :], strict=False))
    except json.JSONDecodeError as error:
        shown = error.doc[error.pos : error.pos + _SHOWN_CHARS].strip()
        return f" ({error.msg}, {f'at: {shown}' if shown else 'at its end'})"
    except RecursionError:
        return " (it is too deeply nested)"
    except ValueError:  # infinity, or more digits than Python reads
        return " (it holds a number that is too large, or that is none)"
    return " (it is too deeply nested)"


def _without_thoughts(text: str) -> str:
    """What comes behind the reasoning that a model wrote into its answer."""
    _, closing, after = text.partition("</think>")
    start = text.lstrip()
    # The prompt may have opened the block; then what comes first is no JSON.
    if start.startswith("<think>") or (closing and start[:1] not in ("{", "[")):
        return after
    return text


def _values(text: str) -> Iterator[object]:
    """The outermost objects and arrays, wherever they are in the text."""
    position = 0
    while opening := _OPENING.search(text, position):
        start = opening.start()
        is_closed, position = _span(text, start)
        if is_closed:
            try:
                yield _load(text[start:position])
            except ValueError:
                continue


def _span(text: str, start: int) -> tuple[bool, int]:
    """Whether the brackets that open at ``start`` are closed, and where to look next.

    What is no JSON ends the span.  To look on from there, and not from behind its
    start, keeps the search linear.  Only a string before it is read again, since prose
    has quotes of its own.  A span that the end of the text cuts off is the last one.
    """
    closing: list[str] = []
    position, string = start, None
    while token := _TOKEN.match(text, position):
        mark = token[0]
        string = position if token["string"] else None
        position = token.end()
        if mark in _CLOSING:
            closing.append(_CLOSING[mark])
        elif mark in _CLOSING.values():
            if mark != closing.pop():
                return False, position
            if not closing:
                return True, position
    if text[position : position + 1] in ("", '"'):
        return False, len(text)
    return False, position if string is None else string + 1


def _load(text: str) -> object:
    """Decode JSON that may need mending; every string is fit for UTF-8."""
    try:
        value = from_json(text, allow_inf_nan=False)
        if _MAY_BE_INFINITE.search(text):
            dump_json(value)  # a ValueError, if it is
    except (ValueError, TypeError):
        pass
    else:
        return value
    mended = _LAST_COMMA.sub(lambda found: found[1] or found[2], text)
    try:
        return from_json(dump_json(json.loads(mended, strict=False)))
    except RecursionError:
        raise ValueError("too deeply nested") from None
