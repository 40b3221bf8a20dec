"""Tools to try an agent with: honest, offline, and quick.

Give them to a command by ``--tools rxagent.cli.demo_tools``.
"""

from __future__ import annotations

import ast
import math
from datetime import datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from rxagent.tools import tool

__all__ = ["calculate", "count_words", "current_time"]

_LONGEST = 200  # characters of an expression
_LARGEST = 300  # decimal digits of a power


@tool
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % ** and parentheses.
    """
    if len(expression) > _LONGEST:
        raise ValueError(f"the expression is longer than {_LONGEST} characters")
    written = expression.replace("^", "**").replace("×", "*").replace("÷", "/")
    try:
        tree = ast.parse(written.strip(), mode="eval")
    except SyntaxError:
        raise ValueError(f"{expression!r} is no arithmetic expression") from None
    value = _evaluated(tree.body)
    return str(value) if isinstance(value, int) else f"{value:.12g}"


@tool
def count_words(text: str) -> int:
    """Count the words of a text.

    Args:
        text: The whole text.
    """
    return len(text.split())


@tool
def current_time(city: str) -> str:
    """Get the current time in a city.

    Args:
        city: Name of a large city, or a time zone such as Asia/Tokyo.
    """
    return f"{datetime.now(_zone(city)):%H:%M on %A, %d %B %Y}"


_Number: TypeAlias = int | float


def _evaluated(node: ast.expr) -> _Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(
            value, bool
        ):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluated(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(_evaluated(left), op, _evaluated(right))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def _combined(left: _Number, op: ast.operator, right: _Number) -> _Number:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case ast.Pow():
            return _power(left, right)
        case _:
            raise ValueError(f"{type(op).__name__} is no arithmetic")


def _power(base: _Number, exponent: _Number) -> _Number:
    if base and abs(exponent * math.log10(abs(base))) > _LARGEST:
        raise ValueError(f"{base} ** {exponent} is too large")
    power: object = base**exponent
    if not isinstance(power, int | float):
        raise ValueError(f"{base} ** {exponent} is no real number")  # noqa: TRY004
    return power


def _zone(city: str) -> ZoneInfo:
    wanted = city.strip().replace(" ", "_").casefold()
    known = available_timezones()
    if not known:
        raise LookupError("this machine has no time zones; pip install tzdata")
    for name in sorted(known):
        if wanted in (name.casefold(), name.casefold().rpartition("/")[2]):
            return ZoneInfo(name)
    raise LookupError(f"no time zone is known for {city!r}; name a larger city near it")
