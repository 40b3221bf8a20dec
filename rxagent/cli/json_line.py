"""Events as lines of JSON."""

from __future__ import annotations

import json
from dataclasses import fields

from pydantic_core import to_jsonable_python

from rxagent.context import Context
from rxagent.events import ChatEvent

__all__ = ["json_line"]


def json_line(event: ChatEvent) -> str:
    """Write an event as JSON, in ASCII, on one line.

    Messages and their parts look as in `rxagent.history`.  Of a context only the names
    are written, since values may be secrets; a value that JSON cannot express is its
    ``repr``.

    Args:
        event: Any event.

    Returns:
        An object: its ``type`` is the name of the event's class, then come the fields.
    """
    members = [
        f'"{each.name}": {_json(getattr(event, each.name))}' for each in fields(event)
    ]
    return f'{{"type": "{type(event).__name__}", {", ".join(members)}}}'


def _json(value: object) -> str:
    try:
        plain: object = to_jsonable_python(
            value, bytes_mode="base64", fallback=_unknown
        )
        return json.dumps(plain, allow_nan=False)
    except ValueError:  # it contains itself, or a number that JSON lacks
        return json.dumps(repr(value))


def _unknown(value: object) -> object:
    return list(value) if isinstance(value, Context) else repr(value)
