from __future__ import annotations

import sys
import zoneinfo
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import pytest

from rxagent.cli.demo_tools import calculate, count_words, current_time


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("127 * 89", "11303"),
        ("(17 + 5) / 4", "5.5"),
        (" 8 / 2 ", "4"),
        ("-3 - +4", "-7"),
        ("2 ** 10", "1024"),
        ("2^10", "1024"),
        ("7 // 2 % 2", "1"),
        ("6 × 8 ÷ 3", "16"),
        ("0.1 + 0.2", "0.3"),
        ("0 ** 2", "0"),
    ],
)
def test_arithmetic_is_calculated(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 +", "is no arithmetic expression"),
        ("", "is no arithmetic expression"),
        ("__import__('os')", "is no arithmetic"),
        ("x", "is no arithmetic"),
        ("True", "is no arithmetic"),
        ("'a' * 9", "is no arithmetic"),
        ("1 << 9", "is no arithmetic"),
        ("9 ** 9 ** 9", "is too large"),
        ("(-8) ** 0.5", "is no real number"),
        ("1" * 201, "longer than 200 characters"),
    ],
)
def test_what_is_no_arithmetic_or_too_much_is_refused(
    expression: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        calculate(expression)


def test_a_division_by_zero_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        calculate("1 / 0")


def test_words_are_counted() -> None:
    assert count_words("the quick  brown\nfox") == 4
    assert count_words("") == 0


@pytest.mark.parametrize("city", ["Tokyo", "tokyo ", "Asia/Tokyo", "New York"])
def test_the_time_of_a_city_is_that_of_its_zone(city: str) -> None:
    zone = ZoneInfo("America/New_York" if "New" in city else "Asia/Tokyo")
    before = datetime.now(zone).replace(second=0, microsecond=0)
    told = datetime.strptime(current_time(city), "%H:%M on %A, %d %B %Y")

    assert before <= told.replace(tzinfo=zone) <= datetime.now(zone)


def test_a_city_without_a_zone_is_an_error_that_says_what_to_do() -> None:
    assert available_timezones()
    with pytest.raises(LookupError, match="'Gotham'; name a larger city near it"):
        current_time("Gotham")


def test_a_machine_without_time_zones_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=[str(tmp_path)])
    try:
        with pytest.raises(LookupError, match="pip install tzdata"):
            current_time("Tokyo")
    finally:
        zoneinfo.reset_tzpath()
