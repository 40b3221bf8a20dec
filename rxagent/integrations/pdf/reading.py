"""The pages of a PDF file, each a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pypdf import PdfReader

from rxagent.errors import DocumentError
from rxagent.retrieval import Document

__all__ = ["read_pdf"]


def read_pdf(path: Path) -> Iterable[Document]:
    """Read a PDF file page by page.

    Args:
        path: Of the file.

    Returns:
        A document for each page that has text; its id ends with ``#page=`` and its
        number, and its fields are ``source``, its name, and ``page``, from 1.  What is
        only a picture of text is not read.

    Raises:
        DocumentError: While it is read, if it is no PDF file, a damaged or an encrypted
            one.
    """
    return _pages(path)


def _pages(path: Path) -> Iterator[Document]:
    try:
        with path.open("rb") as file:
            for number, page in enumerate(PdfReader(file).pages, start=1):
                text = _kept(page.extract_text())
                if text.strip():
                    yield Document(
                        id=f"{path}#page={number}",
                        text=text,
                        metadata={"source": path.name, "page": number},
                    )
    except DocumentError:
        raise
    except Exception as error:
        problem = str(error) or type(error).__name__
        raise DocumentError(str(path), f"cannot be read: {problem}") from error


def _kept(text: str) -> str:
    """What no index keeps is left out: broken fonts make it."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()
