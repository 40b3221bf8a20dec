"""Tables of a page that the code makes, between two comments of their name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["table", "with_tables"]


def table(title: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a table, with its titles above."""
    lines = [title, ["---"] * len(title), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables in their places."""
    for name, text in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, found, rest = page.partition(begin)
        _, ended, behind = rest.partition(end)
        assert found, f"the page has no place for the table of {name}"
        assert ended, f"the place for the table of {name} has no end"
        page = f"{before}{begin}\n{text}\n{end}{behind}"
    return page
