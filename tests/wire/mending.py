"""What is mended in an answer and what is refused, found out by reading it.

python -m tests.wire.mending      # writes the tables of the page anew
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rxagent.errors import InvalidAnswerError
from rxagent.output import output_type
from rxagent.wire.json_text import dump_json
from tests.tables import table, with_tables

__all__ = ["MENDED", "PAGE", "REFUSED", "read", "written_anew"]

PAGE = Path(__file__).parents[2] / "docs/reference/what-is-mended-in-an-answer.md"

_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": ["integer", "string", "array"]}},
    "required": ["a"],
}
_TYPE = output_type(_SCHEMA)

MENDED: Mapping[str, tuple[str, object]] = {
    "JSON alone": ('{"a": 1}', {"a": 1}),
    "blank space around": (' \n{"a": 1}\n', {"a": 1}),
    "a fence": ('```json\n{"a": 1}\n```', {"a": 1}),
    "a longer fence, of no language": ('`````\n{"a": 1}\n`````', {"a": 1}),
    "a fence that is not closed": ('```json\n{"a": 1}', {"a": 1}),
    "a fence within a text": ('{"a": "```json"}', {"a": "```json"}),
    "a fence of something else before": (
        '```sh\necho {x,y}\n```\n```json\n{"a": 1}\n```',
        {"a": 1},
    ),
    "prose around": ('Sure! {"a": 1} Anything else?', {"a": 1}),
    "brackets in the prose": ('By [1] and {x}: {"a": 1} (see {y}).', {"a": 1}),
    "quotes in the prose": ('He said "so: {"a": 1} and "bye".', {"a": 1}),
    "thoughts before": ('<think>{"a": 0}?</think>{"a": 1}', {"a": 1}),
    "thoughts that the prompt opened": ('{"a": 0}? No.</think>\n{"a": 1}', {"a": 1}),
    "a comma before the end": ('{"a": [1, 2,],}', {"a": [1, 2]}),
    "raw control characters": ('{"a": "x\n\ty"}', {"a": "x\n\ty"}),
    "half of a surrogate pair": ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    "a name twice: the last": ('{"a": 1, "a": 2}', {"a": 2}),
    "several: the last that fits": ('{"a": 1} or {"a": 2}, not {"b": 3}', {"a": 2}),
    "the schema before": (f'{dump_json(_SCHEMA).decode()}\n{{"a": 1}}', {"a": 1}),
}
"""By what is odd: a text, and what it is read as."""

REFUSED: Mapping[str, str] = {
    "nothing": "",
    "prose alone": "I cannot help with that.",
    "thoughts alone": '<think>{"a": 1}',
    "cut off": '{"a": [1, 2',
    "several, and none that fits": '{"b": 1} {"c": 2}',
    "the schema alone": dump_json(_SCHEMA).decode(),
    "something else": '{"a": null}',
    "single quotes": "{'a': 1}",
    "names without quotes": "{a: 1}",
    "comments": '{"a": 1 /* one */}',
    "words of Python": '{"a": None}',
    "no number": '{"a": NaN}',
    "a comma that is missing": '{"a": 1 "b": 2}',
    "brackets that cross": '{"a": [1}]',
    "a quote within a text": '{"a": "say "hi" now"}',
}
"""By what is wrong: a text."""


def read(text: str) -> object:
    """Read an answer; a refusal is its sentence."""
    try:
        return _TYPE.read(text)
    except InvalidAnswerError as error:
        return error.problem


def _code(text: str) -> str:
    """A text as code in a cell."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥").replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"


def _row(name: str, text: str) -> list[str]:
    found = read(text)
    shown = found if isinstance(found, str) else _code(dump_json(found).decode())
    return [name, _code(text) if text else "", shown]


def written_anew(page: str) -> str:
    """The page with the tables that the code makes now."""
    mended = [_row(name, text) for name, (text, _) in MENDED.items()]
    refused = [_row(name, text) for name, text in REFUSED.items()]
    return with_tables(
        page,
        {
            "mended": table(["what is odd", "an answer", "is read as"], mended),
            "refused": table(["what is wrong", "an answer", "the model gets"], refused),
        },
    )


if __name__ == "__main__":
    PAGE.write_text(written_anew(PAGE.read_text()))
