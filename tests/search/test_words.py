from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.search.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("get_weather_data", ["get", "weather", "data"]),
        ("list-files", ["list", "file"]),
        ("listFiles", ["list", "file"]),
        ("HTTPServer2", ["http", "server2"]),
        ("Send an E-mail.", ["send", "an", "e", "mail"]),
        ("ｗｅａｔｈｅｒ", ["weather"]),
        ("invoices", ["invoice"]),
        ("address bus is", ["address", "bus", "is"]),
        ("查询天气", ["查询", "询天", "天气"]),
        ("查", ["查"]),
        ("查询weather预报", ["查询", "weather", "预报"]),
        ("天気を調べる", ["天気", "気を", "を調", "調べ", "べる"]),
        ("", []),
        ("?!_", []),
    ],
)
def test_a_text_is_split_as_names_are_written(text: str, words: list[str]) -> None:
    """S000-51, S000-52."""
    assert [*words_of(text)] == words


@given(st.text("abs_- ", max_size=12))
def test_a_text_in_capitals_has_the_same_words(text: str) -> None:
    assert [*words_of(text.upper())] == [*words_of(text)]
