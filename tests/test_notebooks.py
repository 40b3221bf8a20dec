"""A notebook runs from top to bottom, alone, and in git it is only its cells."""

from __future__ import annotations

import ast
import asyncio
import os
import re
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.notebooks import NOTEBOOKS, ROOT, read, strip
from tests.test_docs import LINK, lost_links

CELL_TIMEOUT_S = 180
STRICT = """\
import warnings
warnings.simplefilter("error")
warnings.filterwarnings("default", module="ipykernel")  # it would not end by itself
"""

by_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS]
)


def run(notebook: NotebookNode, folder: Path, timeout_s: int = CELL_TIMEOUT_S) -> None:
    """Run the cells in a new kernel, in ``folder``.

    A warning is an error, as in every test, and so is a word on stderr, which is where
    warnings go that cannot be raised.
    """
    notebook.cells.insert(0, new_code_cell(STRICT))
    client = NotebookClient(
        notebook,
        timeout=timeout_s,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    # Profile and history of the kernel stay in the folder, too.
    env = {**os.environ, "IPYTHONDIR": str(folder / "ipython")}
    asyncio.run(client.async_execute(env=env))
    outputs = [out for cell in code_of(notebook) for out in cell.outputs]
    complaints = [out.text for out in outputs if out.get("name") == "stderr"]
    assert complaints == []


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose_of(notebook: NotebookNode) -> str:
    cells = (cell for cell in notebook.cells if cell.cell_type == "markdown")
    return "\n".join(cell.source for cell in cells)


@by_notebook
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    run(read(path.read_text()), tmp_path)


@by_notebook
def test_a_notebook_is_kept_without_outputs_and_settings(path: Path) -> None:
    text = path.read_text()

    assert text == strip(text), "run: .venv/bin/python tests/notebooks.py"


@by_notebook
def test_a_notebook_ends_in_what_it_has_shown(path: Path) -> None:
    *_, last = code_of(read(path.read_text()))

    assert isinstance(ast.parse(last.source).body[-1], ast.Assert)


@by_notebook
def test_a_cell_has_a_name_that_stays(path: Path) -> None:
    """An id that Jupyter has made up says nothing, and a copied cell gets another."""
    ids = [cell.id for cell in read(path.read_text()).cells]

    assert [each for each in ids if not re.fullmatch(r"[a-z]+(-[a-z]+)*", each)] == []


@by_notebook
def test_a_notebook_is_linked_and_links_to_what_is_there(path: Path) -> None:
    assert lost_links(prose_of(read(path.read_text())), path.parent) == []
    index = ROOT / "docs" / "index.md"
    links = LINK.findall(index.read_text())
    assert path in [(index.parent / link).resolve() for link in links]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("assert 1 == 2", "AssertionError"),
        ("import warnings\nwarnings.warn('old')", "UserWarning"),
        ("import warnings\nwarnings.warn('old', DeprecationWarning)", "Deprecation"),
    ],
    ids=["an assert", "a warning", "a deprecation"],
)
def test_what_is_wrong_in_a_cell_fails(source: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match=name):
        run(new_notebook(cells=[new_code_cell(source)]), tmp_path)


def test_a_cell_that_takes_too_long_fails(tmp_path: Path) -> None:
    endless = new_code_cell("while True:\n    pass")

    with pytest.raises(CellTimeoutError):
        run(new_notebook(cells=[endless]), tmp_path, timeout_s=1)


def test_what_a_cell_says_on_stderr_fails(tmp_path: Path) -> None:
    loud = new_code_cell("import sys\nprint('!', file=sys.stderr)")

    with pytest.raises(AssertionError, match="!"):
        run(new_notebook(cells=[loud]), tmp_path)
