"""The tables of the page about providers are what the code says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rxagent.models import VENDORS, Vendor

PAGE = Path(__file__).parents[2] / "docs/how-to/use-any-openai-compatible-server.md"


def code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def provider(name: str, vendor: Vendor) -> str:
    where = f"`{vendor.base_url}`" if vendor.base_url else "at your own address"
    need = "" if vendor.needs_key else ", if it wants one"
    key = code(vendor.key_variables) + need
    variable = code([vendor.base_url_variable])
    return f"| `{name}:NAME` | {vendor.title} | {where} | {key} | {variable} |"


def refusal(name: str, vendor: Vendor) -> str:
    return f"| `{name}` | {code(sorted(vendor.dialect.refused))} |"


def tables() -> list[list[str]]:
    """The rows of each table of the page, heads excepted."""
    found: list[list[str]] = []
    before = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| --- "):
            found.append([])
        elif line.startswith("|") and before.startswith("|"):
            found[-1].append(line)
        before = line
    return found


def test_the_page_lists_every_vendor_as_the_code_has_it() -> None:
    assert tables()[0] == [provider(*item) for item in VENDORS.items()]


def test_the_page_lists_what_vendors_do_not_take() -> None:
    refusing = [item for item in VENDORS.items() if item[1].dialect.refused]
    assert tables()[1] == [refusal(*item) for item in refusing]
