"""The tokens of an expression of the `regex` package."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Token", "tokens_of"]

_TOKEN = re.compile(
    r"""
    (?P<comment> \(\?\#[^)]*\) )
  | (?P<call>    \(\? (?: P=\w+ | P>\w+ | &\w+ | [+-]?[0-9]+ | R ) \) )
  | (?P<flags>   \(\? (?: [a-zA-Z0-9]+(?:-[a-zA-Z]+)? | -[a-zA-Z]+ ) \) )
  | (?P<verb>    \(\*[A-Z]+\) )
  | (?P<behind>  \(\?<[=!] )
  | (?P<if>      \(\? (?: \(\w+\) | (?=\(\?) ) )
  | (?P<open>    \( (?: \?(?: [:=!>|] | P?<\w+> | [a-zA-Z0-9]*(?:-[a-zA-Z]+)?: ) )? )
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

_NAMED_SET = re.compile(r"\[:\^?[\w=]+:\]")


class Token(NamedTuple):
    """A part of an expression that is not divided.

    Args:
        kind: What it is.
        text: As it stands there.
    """

    kind: str
    text: str

    @property
    def is_behind(self) -> bool:
        """Whether it opens a look at the text before."""
        return self.kind == "behind"

    @property
    def opens(self) -> bool:
        """Whether it opens a group."""
        return self.kind in ("open", "if", "behind")


def tokens_of(
    expression: str, *, is_verbose: bool, has_nested_sets: bool
) -> list[Token]:
    """Divide an expression.

    Args:
        expression: Valid.
        is_verbose: Spaces and what follows a # are comments.
        has_nested_sets: A set of characters may hold others.
    """
    tokens: list[Token] = []
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
        tokens.append(Token(kind, expression[at:end]))
        at = end
    return tokens


def _end_of_set(expression: str, at: int, is_nested: bool) -> int:
    """Where a set of characters ends; a bracket that comes first is a member."""
    depth, at = 1, at + 1
    at += expression.startswith("^", at)
    at += expression.startswith("]", at)
    while depth:
        if expression[at] == "\\":
            at += 1
        elif named := _NAMED_SET.match(expression, at):
            at = named.end() - 1
        elif expression[at] == "[" and is_nested:
            depth += 1
        elif expression[at] == "]":
            depth -= 1
        at += 1
    return at
