r"""How to follow an expression in a text that goes on.

The engine says that the text ended where it looked at a character that is not there.
It says nothing where a boundary, such as ``\b``, takes the end of what is there for
the end of the text, nor where it tests if a repeated group can start once more.  Both
get a lookahead before them that always succeeds, and looks at that character.
"""

from __future__ import annotations

import re
from sys import maxsize
from typing import NamedTuple

from rxagent.errors import ConfigurationError
from rxagent.guards._head import Head, head_of, sees_one
from rxagent.guards._tame import is_tame
from rxagent.guards._tokens import Token, tokens_of

__all__ = ["Way", "followed", "leading_flags"]

_NEXT = r"(?=[\s\S]?)"
_NEXT_LINE = r"(?=(?:\n[\s\S]?|[^\n])?)"  # $ stands before a last line feed, too
_PEEKS = {
    **dict.fromkeys((r"\b", r"\B", r"\m", r"\M", r"\Z", r"\z"), _NEXT),
    "$": _NEXT_LINE,
}
_LEADING_FLAGS = re.compile(r"(?:\(\?[a-zA-Z0-9]+\))*")
_LEADS = (r"\b", r"\B", r"\m", r"\M", r"\A", "^")
_REFUSED = {
    r"\G": "\\G, where a search starts",
    r"\K": "\\K, which moves the start of a match",
    "(?R)": "(?R), the expression within itself",
    "(?0)": "(?0), the expression within itself",
    "(*SKIP)": "(*SKIP), which moves the search",
}
_WIDEST = 3  # characters that one token may match, and more than that


class Way(NamedTuple):
    """How an expression is followed.

    Args:
        expression: It matches the same, and touches the end where that decides.
        look_back: Characters before a match that decide on it, at most.
        without_lead: The same without what it asks at its start about the text before;
            so it can start wherever the expression can.  ``None``: there is no saying.
        sees_one: Of the text before it asks about one character at most.
        head: The run of characters with which it starts, if it does.
        is_tame: It cannot match a short text in very many ways.
    """

    expression: str
    look_back: int
    without_lead: str | None
    sees_one: bool
    head: Head | None
    is_tame: bool


def leading_flags(expression: str) -> str:
    """The flags at the start; others count from where they stand."""
    found = _LEADING_FLAGS.match(expression)
    return found[0] if found else ""


def followed(
    expression: str,
    *,
    name: str,
    is_verbose: bool,
    has_nested_sets: bool,
    folds_fully: bool,
) -> Way:
    """Make an expression say where the end of a text decides.

    Args:
        expression: Valid; without the flags at its start.
        name: Of the pattern; for errors.
        is_verbose: It has the flag ``x``.
        has_nested_sets: It has the flag ``V1``.
        folds_fully: It has the flag ``f``, as it has with ``V1``.

    Raises:
        ConfigurationError: If it has something that no stream can follow.
    """
    tokens = tokens_of(
        expression, is_verbose=is_verbose, has_nested_sets=has_nested_sets
    )
    for token in tokens:
        what = _refused(token, folds_fully)
        if what:
            raise ConfigurationError(f"{name} has {what}; a stream cannot follow that")
    lead = _length_of_lead(tokens)
    reader = _Reader(tokens, lead)
    flags = "".join(token.text for token in tokens[:lead] if token.kind == "flags")
    has_groups = any(token.kind in ("open", "if") for token in tokens[:lead])
    is_clear = not (has_groups or reader.is_unclear)  # else their numbers would change
    is_seen = is_clear and sees_one(_joined(tokens[:lead]))
    is_plain = is_seen and not reader.has_ways
    width = 1 if is_seen else reader.width
    return Way(
        expression="".join(reader.out),
        look_back=maxsize if reader.is_endless else width,
        without_lead=flags + "".join(reader.out[lead:]) if is_clear else None,
        sees_one=is_seen,
        head=head_of(_joined(tokens[lead:]), flags) if is_plain else None,
        is_tame=is_tame(tokens),
    )


class _Reader:
    """Reads the tokens of an expression, and writes those with which it is followed.

    Args:
        tokens: Of the expression.
        lead: How many of them only ask about the text before.
    """

    def __init__(self, tokens: list[Token], lead: int) -> None:
        self.out: list[str] = []
        self.width = 1  # a boundary looks at one character
        self.is_endless = False  # it looks back at any number of characters
        self.is_unclear = False  # it looks back behind its lead
        self.has_ways = False  # one of several expressions may match
        self._groups: list[tuple[int, bool]] = []  # where each starts; if it looks back
        kinds = [token.kind for token in tokens if token.kind != "comment"]
        follows = iter([*kinds[1:], "end"])
        for number, token in enumerate(tokens):
            is_repeated = token.kind != "comment" and next(follows) == "repeat"
            if self._is_behind:
                self._measure(token)
            if number >= lead and (token.is_behind or token.text == r"\X"):
                self.is_unclear = True
            is_lead = number < lead and not self._groups
            self.out.append(self._written(token, is_lead, is_repeated))

    @property
    def _is_behind(self) -> bool:
        return any(behind for _, behind in self._groups)

    def _measure(self, token: Token) -> None:
        self.width += _WIDEST
        has_no_end = token.kind == "repeat" and token.text != "?"
        if has_no_end or token.kind in ("back", "call") or token.text == r"\X":
            self.is_endless = True

    def _written(self, token: Token, is_lead: bool, is_repeated: bool) -> str:
        text = token.text
        if text == "|" and not self._groups:
            self.has_ways = True
        if token.opens:
            self._groups.append((len(self.out), token.is_behind))
        elif token.kind == "close":
            start, _ = self._groups.pop()
            if is_repeated and not self._is_behind:
                self.out[start] = f"(?:{_NEXT}{self.out[start]}"
                return "))"
        elif text == r"\X":
            self.is_endless = True
            return rf"(?:{_NEXT}\X{_NEXT})"
        elif token.kind in ("back", "call") and is_repeated:
            return f"(?:{_NEXT}{text})"
        elif (peek := _PEEKS.get(text)) and not (is_lead and text != "$"):
            if not self._is_behind:
                return f"{peek}{text}"
            # Behind is read from right to left, so there it stands on both sides.
            return f"(?:{peek}{text}{peek})"
        return text


def _joined(tokens: list[Token]) -> str:
    return "".join(token.text for token in tokens if token.kind != "comment")


def _length_of_lead(tokens: list[Token]) -> int:
    """How many tokens at the start only ask about the text before."""
    depth = 0
    for number, token in enumerate(tokens):
        is_lead = token.kind in ("flags", "comment") or token.text in _LEADS
        if not (depth or is_lead or token.is_behind):
            return 0 if token.kind == "repeat" else number
        depth += token.opens - (token.kind == "close")
    return len(tokens)


def _refused(token: Token, folds_fully: bool) -> str | None:
    """What a token stands for, if it is nothing for a stream."""
    if token.kind == "fuzzy":
        return "approximate matching"
    flags = re.match(r"\(\?([a-zA-Z0-9]*)(-?[a-zA-Z]*)[:)]", token.text)
    if flags and token.kind in ("flags", "open"):
        if set(flags[1] + flags[2]) & set("fwxV"):
            return "one of the flags f, w, x and V for a part of it"
        if folds_fully and "i" in flags[1]:
            return "full case folding, by the flag f or V1"
    return _REFUSED.get(token.text)
