"""Where two JSON values differ, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rxagent.wire.json_text import is_array, is_object

__all__ = ["differences"]

_LONGEST = 60  # characters of a value


def differences(asked: object, recorded: object, *, where: str = "") -> Iterator[str]:
    """Compare two values.

    Args:
        asked: What is there now.
        recorded: What was there.
        where: The way to them.

    Yields:
        One line for each place where they differ.
    """
    if is_object(asked) and is_object(recorded):
        for name in [*asked, *(each for each in recorded if each not in asked)]:
            place = f"{where}.{name}" if where else name
            if name not in recorded:
                yield f"{place}: asked {_short(asked[name])}, not recorded"
            elif name not in asked:
                yield f"{place}: not asked, recorded {_short(recorded[name])}"
            else:
                yield from differences(asked[name], recorded[name], where=place)
    elif is_array(asked) and is_array(recorded):
        for index in range(max(len(asked), len(recorded))):
            place = f"{where}[{index}]"
            if index >= len(recorded):
                yield f"{place}: asked {_short(asked[index])}, not recorded"
            elif index >= len(asked):
                yield f"{place}: not asked, recorded {_short(recorded[index])}"
            else:
                yield from differences(asked[index], recorded[index], where=place)
    elif json.dumps(asked) != json.dumps(recorded):  # 1 == True, and is another value
        yield f"{where or 'body'}: asked {_short(asked)}, recorded {_short(recorded)}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
