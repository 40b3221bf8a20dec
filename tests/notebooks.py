"""The notebooks, and how they are kept: without outputs, with little beside the cells.

Jupyter writes outputs and its own settings into a notebook that it saves.  To take them
out again::

    .venv/bin/python tests/notebooks.py
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

__all__ = ["NOTEBOOKS", "read", "strip"]

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(text: str) -> NotebookNode:
    """Parse a notebook, as it is: what is not valid is not mended."""
    notebook: NotebookNode = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def strip(text: str) -> str:
    """Leave the cells and their ids, and what a reader needs to run them."""
    notebook = read(text)
    notebook.metadata = nbformat.from_dict(_METADATA)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return f"{nbformat.writes(notebook)}\n"


if __name__ == "__main__":
    for path in NOTEBOOKS:
        path.write_text(strip(path.read_text()))
