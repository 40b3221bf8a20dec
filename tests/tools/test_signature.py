from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import pytest

from rxagent.errors import ConfigurationError
from rxagent.tools import ToolContext, tool

if TYPE_CHECKING:
    from decimal import Decimal


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    def price(self, item: str, amount: int = 1) -> str:
        """Ask for a price."""
        return f"{self.name}: {amount} {item}"

    @staticmethod
    def hours(day: str) -> str:
        return day


def untyped(city: str) -> str:
    return city


del untyped.__annotations__["city"]


def many(*cities: str) -> str:
    return str(cities)


def anything(**options: str) -> str:
    return str(options)


def positional(city: str, /) -> str:
    return city


def typing_only(amount: Decimal) -> str:
    return str(amount)


def twice(a: ToolContext, b: ToolContext | None = None) -> str:
    return f"{a}{b}"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (untyped, "'untyped'.*'city' has no annotation.*`city: str`"),
        (Shop.price, "'price'.*'self' has no annotation.*bound method"),
        (many, r"'many'.*'\*cities'.*from_schema"),
        (anything, r"'anything'.*'\*\*options'.*from_schema"),
        (positional, "'positional'.*'city' is positional-only"),
        (typing_only, "'typing_only'.*'Decimal'.*'amount'.*TYPE_CHECKING"),
        (twice, "'twice'.*a and b.*keep one"),
        (math.sqrt, "'sqrt'.*positional-only"),
        (dict.fromkeys, "'fromkeys'"),
    ],
)
def test_a_signature_that_no_model_can_fill_in_is_refused(
    function: Callable[..., Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        tool(function)


@pytest.mark.parametrize("thing", [Shop, 3, Shop("x")], ids=["class", "int", "object"])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(ConfigurationError, match="a function, a method or a partial"):
        tool(thing)


def test_a_class_method_is_refused_in_its_class() -> None:
    def count(cls: Any, n: int) -> int:
        return n + len(str(cls))

    with pytest.raises(ConfigurationError, match=r"'count'.*cannot be read"):
        tool(classmethod(count))  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


def typing_only_result(amount: int) -> Decimal:
    pytest.fail(f"nobody asked for {amount}")


def test_a_return_annotation_for_type_checkers_only_does_no_harm() -> None:
    assert tool(typing_only_result).parameters["required"] == ["amount"]


def test_a_bound_method_is_a_tool() -> None:
    made = tool(Shop("Eva").price)

    assert made.name == "price"
    assert made.description == "Ask for a price."
    assert made.parameters["required"] == ["item"]
    assert made("apple", amount=2) == "Eva: 2 apple"


def test_a_static_method_is_a_tool() -> None:
    assert tool(Shop.hours)("Monday") == "Monday"


def test_the_model_does_not_see_what_a_partial_binds() -> None:
    def convert(rate: float, amount: float, digits: int, unit: str = "EUR") -> str:
        """Convert money."""
        return f"{rate * amount:.{digits}f} {unit}"

    made = tool(partial(convert, 2.0, digits=1))

    assert made.name == "convert"
    assert made.description == "Convert money."
    assert made.parameters["properties"] == {
        "amount": {"type": "number"},
        "unit": {"type": "string", "default": "EUR"},
    }
    assert made(amount=3.0) == "6.0 EUR"


def test_a_wrapper_has_the_signature_of_what_it_wraps() -> None:
    def shouting(function: Callable[[str], str]) -> Callable[[str], str]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return call

    @tool
    @shouting
    def greet(name: str) -> str:
        """Greet."""
        return f"hi {name}"

    assert greet.parameters["required"] == ["name"]
    assert greet("eva") == "HI EVA"
