"""The table of look-alike letters, made of Unicode's own.

    python -m tests.advisors.look_alikes confusables.txt   # then ruff format

The file is https://www.unicode.org/Public/security/latest/confusables.txt.  Two
characters look alike if they have one prototype.  Kept are those that look like a
letter or digit of ASCII, but for those that another step reads already (compatibility
forms), those that are written from right to left, and combining marks.
"""

from __future__ import annotations

import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["TABLE", "look_alikes", "prototypes", "written_anew"]

TABLE = Path(__file__).parents[2] / "rxagent/advisors/_look_alikes.py"

_STROKE = "ǀ"  # for the prototype of I, l and 1: it may be an i or an l
_NOT_BESIDE_LATIN = frozenset({"R", "AL", "AN", "NSM"})
_MARKS = frozenset({"Mn", "Me"})
_WIDTH = 88


def prototypes(lines: Iterable[str]) -> dict[str, str]:
    """Read a file of confusables: from each character to what it looks like."""
    found: dict[str, str] = {}
    for line in lines:
        fields = line.removeprefix("\ufeff").partition("#")[0].split(";")
        if len(fields) >= 2:
            found[_text(fields[0])] = _text(fields[1])
    return found


def look_alikes(
    looks_like: Mapping[str, str],
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Characters by the letter that they look like; then those with a mark as well."""
    letters = string.digits + string.ascii_uppercase + string.ascii_lowercase
    by_prototype = {looks_like.get(each, each): each.lower() for each in letters}
    by_prototype[looks_like.get("l", "l")] = _STROKE
    plain: dict[str, list[str]] = {}
    marked: dict[str, list[str]] = {}
    for each, prototype in sorted(looks_like.items()):
        if each.isascii() or unicodedata.normalize("NFKD", each) != each:
            continue
        if unicodedata.bidirectional(each) in _NOT_BESIDE_LATIN:
            continue
        first, rest = prototype[:1], prototype[1:]
        if prototype in by_prototype:
            plain.setdefault(by_prototype[prototype], []).append(each)
        elif first in by_prototype and all(map(_is_mark, rest)):
            marked.setdefault(by_prototype[first], []).append(each)
    return plain, marked


def written_anew(old: str, lines: Iterable[str]) -> str:
    """The module with the tables of ``lines``, its version and nothing else changed."""
    lines = list(lines)
    version = next(line.split()[-1] for line in lines if line.startswith("# Version:"))
    plain, marked = look_alikes(prototypes(lines))
    head, _, rest = old.partition("VERSION = ")
    middle = rest.partition("\n_ALIKE")[0].partition("\n")[2]
    tail = old[old.index("\n\ndef ") :]
    return (
        f'{head}VERSION = "{version}"\n{middle}\n'
        f"{''.join(_mapping('_ALIKE', plain))}\n{''.join(_mapping('_MARKED', marked))}"
        f"{tail}"
    )


def _mapping(name: str, table: Mapping[str, list[str]]) -> Iterator[str]:
    yield f"{name} = {{\n"
    for letter, characters in sorted(table.items()):
        yield f'    "{letter}": (\n'
        line = ""
        for each in characters:
            code = f"{ord(each):04X} "
            if len(line) + len(code) + 10 > _WIDTH:
                yield f'        "{line}"\n'
                line = ""
            line += code
        yield f'        "{line.rstrip()}"\n    ),\n'
    yield "}\n"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in _MARKS


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


if __name__ == "__main__":
    given = Path(sys.argv[1]).read_text(encoding="utf-8-sig").splitlines()
    TABLE.write_text(written_anew(TABLE.read_text(), given))
