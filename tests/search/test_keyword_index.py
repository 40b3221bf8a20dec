from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rxagent.requests import ToolSpec
from rxagent.search import KeywordIndex
from tests.search.catalogue import found, spec

TOOLS = [
    spec("query_orders", "Query the orders of a customer."),
    spec("weather", "Query what it is like outside."),
    spec("stock", "Query prices."),
    spec("listFiles", "Shows a folder."),
    spec("查询天气", "获取城市的天气"),
]


def names(query: str, *tools: ToolSpec) -> list[str]:
    return found(KeywordIndex(), tools or TOOLS, query)


def test_a_word_of_a_name_weighs_twice_one_of_a_description() -> None:
    """S000-50."""
    tools = [spec("a_mail"), spec("b", "mail"), spec("c")]
    assert names("mail", *tools) == ["a_mail", "b"]
    # Two words of a description are as good as one of a name: sorted by name.
    tools = [spec("z", "send mail"), spec("mail_x"), spec("send_x")]
    assert names("send mail", *tools) == ["mail_x", "send_x", "z"]
    tools = [spec("a_mail"), spec("z_mail", "mail"), spec("c")]
    assert names("mail", *tools) == ["z_mail", "a_mail"]


def test_names_are_split_however_they_are_written() -> None:
    """S000-52."""
    assert names("files") == ["listFiles"]
    tools = [spec("get_a"), spec("get_b"), spec("set_a")]
    assert names("get", *tools) == ["get_a", "get_b"]


def test_a_word_that_all_tools_have_weighs_exactly_nothing() -> None:
    """S000-53."""
    tools = [spec("b", "query the weather"), spec("a", "query"), spec("c", "query")]
    assert names("query weather", *tools) == ["b"]
    # And if it is all there is to go by, all tools fit.
    assert names("query", *tools) == ["a", "b", "c"]
    assert names("query", spec("query")) == ["query"]


def test_a_common_word_does_not_beat_a_rare_one() -> None:
    """S000-53."""
    assert names("query weather")[0] == "weather"


def test_a_chinese_query_finds_a_tool_that_is_described_in_chinese() -> None:
    """S000-51."""
    assert names("天气") == ["查询天气"]
    assert names("城市天气怎么样") == ["查询天气"]


def test_there_is_no_least_score() -> None:
    """S000-54."""
    tools = [spec(f"t{n}", "mail " + "and more " * n) for n in range(9)] + [spec("x")]
    assert names("mail", *tools) == [f"t{n}" for n in range(9)]


def test_the_limit_cuts_the_list_and_nothing_fits_a_strange_word() -> None:
    """S000-58, M-58: ties are sorted by name."""
    tools = [spec("b", "mail"), spec("a", "mail"), spec("c", "mail"), spec("d")]
    assert found(KeywordIndex(), tools, "mail", 2) == ["a", "b"]
    assert names("quantum") == []
    assert found(KeywordIndex(), [], "mail") == []


@given(st.permutations(TOOLS), st.text(max_size=12))
def test_the_order_of_the_tools_makes_no_difference(
    tools: list[ToolSpec], query: str
) -> None:
    assert names(query, *tools) == names(query)
