"""What it costs to show an answer while it grows: ours beside re-reading at each delta.

    python bench/partials.py             # under a minute
    pip install jiter partial-json-parser json-repair   # peers join where they are

An array of films comes in deltas of 20 characters.  "us" is CPU time for each delta,
the exponent is that of the whole between the sizes: 1 is linear, 2 is quadratic.  Who
reads all of the text again at each delta is quadratic, however fast the reader is; the
last column is what that comes to for a megabyte.
"""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from rxagent import AssistantMessage, ChatResponse, Finished, TextDelta, just
from rxagent.entities import elements, partials
from rxagent.wire.json_reader import JsonReader
from rxagent.wire.partial import PartialJson

DELTA_CHARS = 20
SMALL, LARGE, WHOLE = 16_384, 65_536, 1_000_000
SLOW_S = 4.0  # who takes longer for the small one is not asked for the large one


class Film(BaseModel):
    title: str
    year: int
    cast: list[str]
    plot: str


Read = Callable[[Sequence[str]], object]


def deltas(chars: int) -> list[str]:
    films: list[str] = []
    size = 0
    while size < chars:
        number = len(films)
        film = Film(
            title=f"film {number}",
            year=1900 + number % 120,
            cast=["Ann", "Bob"],
            plot="a ship, a cat and a stranger",
        )
        films.append(film.model_dump_json())
        size += len(films[-1]) + 1
    text = f"[{','.join(films)}]"
    return [text[at : at + DELTA_CHARS] for at in range(0, len(text), DELTA_CHARS)]


def fed(make: Callable[[], Any]) -> Read:
    """A transducer of ours."""

    def read(pieces: Sequence[str]) -> object:
        transducer = make()
        found = [each for piece in pieces for each in transducer.feed(piece)]
        return [*found, *transducer.flush()][-1]

    return read


def piped(operator: Any) -> Read:
    """An operator of ours, over the events of an answer."""

    def read(pieces: Sequence[str]) -> object:
        message = AssistantMessage.of("".join(pieces))
        end = Finished(response=ChatResponse(message=message, finish_reason="stop"))
        events = [*(TextDelta(text=piece) for piece in pieces), end]
        found: list[object] = []
        failed: list[Exception] = []
        just(*events).pipe(operator).subscribe(found.append, failed.append)
        assert not failed, failed
        return found[-1]

    return read


def reread(load: Callable[[str], object]) -> Read:
    """Everything that has come, again at each delta."""

    def read(pieces: Sequence[str]) -> object:
        text, value = "", None
        for piece in pieces:
            text += piece
            value = load(text)
        return value

    return read


def peer(module: str, load: Callable[[Any], Callable[[str], object]]) -> Read | None:
    try:
        return reread(load(importlib.import_module(module)))
    except ImportError:
        return None


OURS: dict[str, Read] = {
    "`PartialJson`": fed(PartialJson),
    "`JsonReader`": fed(JsonReader),
    "`partials(list[Film])`": piped(partials(list[Film])),
    "`elements(Film)`": piped(elements(Film)),
}
THEIRS: dict[str, Read | None] = {
    "pydantic-core, at each delta": reread(
        lambda text: from_json(text, allow_partial="trailing-strings")
    ),
    "jiter, at each delta": peer(
        "jiter",
        lambda it: (
            lambda text: it.from_json(text.encode(), partial_mode="trailing-strings")
        ),
    ),
    "partial-json-parser, at each delta": peer(
        "partial_json_parser", lambda it: it.loads
    ),
    "json-repair, at each delta": peer(
        "json_repair", lambda it: lambda text: it.loads(text, stream_stable=True)
    ),
}


def cpu_s(read: Read, pieces: Sequence[str]) -> float:
    began = time.process_time()
    read(pieces)
    return time.process_time() - began


def main() -> None:
    small, large, whole = (deltas(chars) for chars in (SMALL, LARGE, WHOLE))
    assert json.loads("".join(small))
    print(f"{'':36} us 16 KB  us 64 KB  exponent   s for 1 MB")
    everybody = {**OURS, **{n: r for n, r in THEIRS.items() if r is not None}}
    for name, read in everybody.items():
        read(deltas(1000))
        at_small = cpu_s(read, small)
        if at_small > SLOW_S:
            print(f"{name:36} {at_small / len(small) * 1e6:8.1f}")
            continue
        at_large = cpu_s(read, large)
        growth = math.log(at_large / at_small) / math.log(len(large) / len(small))
        if name in OURS:
            at_whole = f"{cpu_s(read, whole):.2f}"
        else:
            guess = at_large * (len(whole) / len(large)) ** growth
            at_whole = f"about {guess:.0f}"
        print(
            f"{name:36} {at_small / len(small) * 1e6:8.1f}  "
            f"{at_large / len(large) * 1e6:8.1f}  {growth:8.2f}   {at_whole}"
        )


if __name__ == "__main__":
    main()
