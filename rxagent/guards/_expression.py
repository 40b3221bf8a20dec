r"""How to follow an expression in a text that goes on.

The engine says that the text ended where it looked at a character that is not there.
It says nothing where a boundary, such as ``\b``, takes the end of what is there for
the end of the text, nor where it tests if a repeated group can start once more.  Both
get a lookahead before them that always succeeds, and looks at that character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rxagent.errors import ConfigurationError

__all__ = ["Way", "followed"]

_NEXT = r"(?=[\s\S]?)"
_NEXT_LINE = r"(?=(?:\n[\s\S]?|[^\n])?)"  # $ stands before a last line feed, too
_PEEKS = {
    **dict.fromkeys((r"\b", r"\B", r"\m", r"\M", r"\Z", r"\z"), _NEXT),
    "$": _NEXT_LINE,
}
_TOKEN = re.compile(
    r"""
    (?P<comment> \(\?\#[^)]*\) )
  | (?P<call>    \(\? (?: P=\w+ | P>\w+ | &\w+ | [+-]?[0-9]+ | R ) \) )
  | (?P<flags>   \(\?[a-zA-Z0-9]+(?:-[a-zA-Z]+)?\) )
  | (?P<verb>    \(\*[A-Z]+\) )
  | (?P<behind>  \(\?<[=!] )
  | (?P<open>    \( (?: \?(?: [:=!>|] | P?<\w+> | \(\w+\) | (?=\(\?)
                     | [a-zA-Z0-9]*(?:-[a-zA-Z]+)?: ) )? )
  | (?P<close>   \) )
  | (?P<fuzzy>   \{ \s* (?: [0-9]+ \s* <=? \s* )? [eids] \s* (?: [<,:] [^}]* )? \} )
  | (?P<repeat>  [*+?] | \{[0-9]*,?[0-9]*\} )
  | (?P<back>    \\ (?: [1-9][0-9]? | g<[^>]*> ) )
  | (?P<escape>  \\ (?: [pPN]\{[^}]*\} | . ) )
  | (?P<set>     \[ )
  | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
_REFUSED = {
    r"\G": "\\G, where a search starts,",
    r"\K": "\\K, which moves the start of a match,",
    "(?R)": "(?R), the expression within itself,",
    "(?0)": "(?0), the expression within itself,",
    "(*SKIP)": "(*SKIP), which moves the search,",
}
_WIDEST = 3  # characters that one may match, if case is folded


class Way(NamedTuple):
    """How an expression is followed.

    Args:
        expression: It matches the same, and touches the end where that decides.
        look_back: Characters before a match that decide on it, at most; ``None``: any
            number.
    """

    expression: str
    look_back: int | None


def followed(
    expression: str, *, name: str, is_verbose: bool, has_nested_sets: bool
) -> Way:
    """Make an expression say where the end of a text decides.

    Args:
        expression: Valid.
        name: Of the pattern; for errors.
        is_verbose: It has the flag ``x``.
        has_nested_sets: It has the flag ``V1``.

    Raises:
        ConfigurationError: If it has something that no stream can follow.
    """
    tokens = list(_tokens(expression, is_verbose, has_nested_sets))
    kinds = [kind for kind, _ in tokens if kind != "comment"]
    follows = iter([*kinds[1:], "end"])
    out: list[str] = []
    groups: list[tuple[int, bool]] = []  # where each starts, and if it looks behind
    look_back: int | None = 1  # a boundary looks at one character
    width = 0
    has_begun = False
    for kind, token in tokens:
        _refuse(name, kind, token)
        is_repeated = kind != "comment" and next(follows) == "repeat"
        is_behind = any(behind for _, behind in groups)
        if is_behind:
            width += _WIDEST
            if kind in ("back", "call") or (kind == "repeat" and token != "?"):
                look_back = None
        if kind in ("open", "behind"):
            groups.append((len(out), kind == "behind"))
        elif kind == "close":
            start, _ = groups.pop()
            if is_repeated and not any(behind for _, behind in groups):
                out[start] = f"(?:{_NEXT}{out[start]}"
                token = "))"
        elif token == r"\X":
            token, look_back = rf"(?:{_NEXT}\X{_NEXT})", None
        elif kind in ("back", "call") and is_repeated:
            token = f"(?:{_NEXT}{token})"
        elif (peek := _PEEKS.get(token)) and (has_begun or token == "$"):
            # Behind is read from right to left, so there it stands on both sides.
            token = f"{peek}{token}{peek}" if is_behind else f"{peek}{token}"
        has_begun = has_begun or kind not in ("flags", "comment")
        out.append(token)
    if look_back is not None:
        look_back = max(look_back, width)
    return Way("".join(out), look_back)


def _tokens(
    expression: str, is_verbose: bool, has_nested_sets: bool
) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        assert found is not None
        assert found.lastgroup is not None
        kind, end = found.lastgroup, found.end()
        if kind == "set":
            end = _end_of_set(expression, at, has_nested_sets)
        elif is_verbose and kind == "other" and found[0] == "#":
            end = (expression.find("\n", at) + 1) or len(expression)
            kind = "comment"
        elif is_verbose and kind == "other" and found[0].isspace():
            kind = "comment"
        yield kind, expression[at:end]
        at = end


def _end_of_set(expression: str, at: int, is_nested: bool) -> int:
    """Where a set of characters ends; a bracket that comes first is a member."""
    depth, at = 1, at + 1
    at += expression.startswith("^", at)
    at += expression.startswith("]", at)
    while depth:
        if expression[at] == "\\":
            at += 1
        elif expression.startswith("[:", at) and ":]" in expression[at:]:
            at = expression.index(":]", at) + 1
        elif expression[at] == "[" and is_nested:
            depth += 1
        elif expression[at] == "]":
            depth -= 1
        at += 1
    return at


def _refuse(name: str, kind: str, token: str) -> None:
    what = "approximate matching" if kind == "fuzzy" else _REFUSED.get(token)
    if kind == "open" and re.match(r"\(\?[^:<]*[xw][^:<]*:", token):
        what = "flags x or w for a part of it"
    if what:
        raise ConfigurationError(f"{name} has {what} and a stream cannot follow that")
