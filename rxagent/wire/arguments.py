"""The arguments of a tool call: from the text that a model wrote to an object."""

from __future__ import annotations

from pydantic_core import from_json

from rxagent.errors import ArgumentsError
from rxagent.wire.json_text import dump_json, is_object, load_json

__all__ = ["parse_arguments", "strict_arguments"]


def parse_arguments(text: str) -> dict[str, object]:
    """Read the arguments of a call.

    Args:
        text: What the model wrote; blank text is an empty object.

    Returns:
        The object, with every string fit for UTF-8.

    Raises:
        ArgumentsError: If it is no JSON object; a sentence that the model can act on.
    """
    if not text.strip():
        return {}
    try:
        value = _load_strict(text)
    except ValueError as error:
        raise ArgumentsError(
            f"the arguments are not valid JSON ({error}); "
            "write one complete JSON object",
            text=text,
        ) from None
    if not is_object(value):
        raise ArgumentsError(
            f"the arguments are a JSON {_kind(value)}, not an object; "
            'write the parameters by name: {"name": value}',
            text=text,
        )
    return value


def strict_arguments(text: str) -> str:
    """Return arguments as text that every server accepts.

    Args:
        text: What the model wrote.

    Returns:
        A JSON object.  Text that is none travels inside one, since strict servers
        refuse a history with broken JSON for ever: ``{"INVALID_JSON": text}``.
    """
    try:
        if is_object(_finite(text)):
            return text
    except (ValueError, TypeError):
        pass  # blank, broken, with half of a surrogate pair, or beyond all numbers
    try:
        return dump_json(parse_arguments(text)).decode()
    except ValueError:
        return dump_json({"INVALID_JSON": text}).decode()


def _load_strict(text: str) -> object:
    try:
        return _finite(text)
    except (ValueError, TypeError):
        # json.loads reads lone halves of surrogate pairs, which dump_json mends; and
        # where there is more wrong, its position counts characters, not bytes.
        return from_json(dump_json(load_json(text)))


def _finite(text: str) -> object:
    """Decode JSON whose numbers can be said again: 1e999 is read as infinite."""
    value = from_json(text, allow_inf_nan=False)
    dump_json(value)
    return value


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "number"
