"""Whatever a page shows in Python runs; a block of text after it is what it prints."""

from __future__ import annotations

import ast
import asyncio
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from inspect import iscoroutine
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"```(\w*)\s*$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
MAX_README_LINES = 100

by_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page.

    Args:
        language: As the fence names it.
        text: Between the fences.
        line: Of the page, where the text starts; from 0.
    """

    language: str
    text: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    language, start = "", None
    lines = page.read_text().splitlines(keepends=True)
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence is None:
            continue
        if start is None:
            language, start = fence[1], number + 1
        else:
            text = "".join(lines[start:number])
            yield Block(language=language, text=text, line=start)
            start = None
    assert start is None, f"{page.name}: a block that starts at line {start} is open"


def run(block: Block, page: Path, namespace: dict[str, object]) -> str:
    """Run a block as a notebook would, top-level ``await`` included."""
    code = compile(
        "\n" * block.line + block.text,
        page,
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    printed = io.StringIO()
    with redirect_stdout(printed):
        result: object = eval(code, namespace)
        if iscoroutine(result):
            asyncio.run(result)
    return printed.getvalue()


@by_page
def test_what_a_page_shows_runs_and_prints_what_it_says(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    # A module, so that annotations and dataclasses find their names.
    namespace = vars(ModuleType("page"))
    end = Block(language="", text="", line=0)
    for block, following in pairwise([*blocks_of(page), end]):
        if block.language == "python":
            printed = run(block, page, namespace)
            if following.language == "text":
                assert printed == following.text


def lost_links(text: str, folder: Path) -> list[str]:
    """The links to files that are not there, as a page in ``folder`` writes them."""
    targets = [link.partition("#")[0] for link in LINK.findall(text)]
    return [
        target
        for target in targets
        if target and "://" not in target and not (folder / target).exists()
    ]


@by_page
def test_a_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert lost_links(page.read_text(), page.parent) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for link in LINK.findall(page.read_text()):
            if "://" not in link:
                waiting.append(page.parent / link.partition("#")[0])
    assert {page.resolve() for page in PAGES} <= reached


def test_the_readme_fits_two_screens_and_starts_with_the_two_commands() -> None:
    readme = ROOT / "README.md"
    assert len(readme.read_text().splitlines()) <= MAX_README_LINES
    first, second, *_ = blocks_of(readme)
    assert [first.language, second.language] == ["sh", "sh"]
    assert "rxagent ask" in first.text
    assert second.text.rstrip().endswith("pytest")
