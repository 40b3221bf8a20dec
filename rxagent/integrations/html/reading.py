"""The text of a page, with its headings as Markdown writes them."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rxagent.errors import DocumentError
from rxagent.integrations.html.depth import check_depth
from rxagent.retrieval import Document

__all__ = ["html_text", "read_html"]

_UNSEEN_TAGS = "script style noscript template svg head iframe object"
_UNSEEN = frozenset(_UNSEEN_TAGS.split())
_INLINE_TAGS = (
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp "
    "small span strong sub sup time tt u var wbr"
)
_INLINE = frozenset(_INLINE_TAGS.split())
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SET = "pre"
_TICKS = re.compile("`+")
_SPACE = re.compile(r"[^\S\n]+")
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_CHARSET_WITHIN = 1_024  # bytes
_MARKS = {BOM_UTF8: "utf-8-sig", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}
_LINES = re.compile(r" ?\n[ \n]*")


def html_text(page: str | bytes) -> str:
    """The text that a page shows.

    Args:
        page: HTML, well-formed or not.  Bytes are in the encoding that their mark of
            byte order or a ``<meta>`` names, or else in UTF-8.

    Returns:
        A line for each block; a heading starts with ``#``, an item of a list with
        ``-``.  What is set with its own line breaks, such as code, stands as it is
        between two lines of backticks.  Scripts, styles and what is in the head are
        left out.

    Raises:
        DocumentError: If over 1,000 elements are within each other, or not ended: it
            would take too long.

    Source: the HTML standard, "Determining the character encoding"; as it asks, Latin-1
    and ASCII are read as Windows-1252.
    """
    return _shown(_parsed(page))


def read_html(path: Path) -> Iterable[Document]:
    """Read a file of HTML.

    Args:
        path: Of the file.

    Returns:
        One document, with the field ``title`` if the page has one.

    Raises:
        DocumentError: If it cannot be read; see `html_text`.
    """
    try:
        tree = _parsed(path.read_bytes())
    except OSError as error:
        raise DocumentError(str(path), f"cannot be read: {error}") from error
    except DocumentError as error:  # of the page, which does not know its file
        raise DocumentError(str(path), error.problem) from None
    title = tree.css_first("head title")  # a picture may have one, too
    named = title.text().strip() if title is not None else ""
    metadata = {"title": named} if named else {}
    return (Document(id=str(path), text=_shown(tree), metadata=metadata),)


def _parsed(page: str | bytes) -> LexborHTMLParser:
    text = page if isinstance(page, str) else _decoded(page)
    check_depth(text)
    return LexborHTMLParser(text)


def _decoded(page: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if page.startswith(mark):
            return page.decode(encoding, "replace")
    named = _CHARSET.search(page[:_CHARSET_WITHIN])
    encoding = named[1].decode().lower() if named else "utf-8"
    if encoding in ("iso-8859-1", "latin1", "us-ascii", "ascii"):
        encoding = "windows-1252"
    if encoding.startswith("utf-16"):  # then nobody could have read the name
        encoding = "utf-8"
    try:
        return page.decode(encoding, "replace")
    except (LookupError, UnicodeError):  # it is no encoding of text
        return page.decode("utf-8", "replace")


def _shown(tree: LexborHTMLParser) -> str:
    if tree.root is None:
        return ""
    shown: list[str] = []
    for is_set, pieces in groupby(_pieces(tree.root), key=itemgetter(0)):
        text = "".join(piece for _, piece in pieces).replace("\0", "")
        shown.append(_fenced(text) if is_set else _flowing(text))
    return "\n".join(filter(None, shown))


def _flowing(text: str) -> str:
    return _LINES.sub("\n", _SPACE.sub(" ", text)).strip()


def _fenced(text: str) -> str:
    """A block of code, in which nothing is a heading, though it start with ``#``."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    body = text.strip("\n")
    return f"{fence}\n{body}\n{fence}" if body.strip() else ""


def _pieces(root: LexborNode) -> Iterator[tuple[bool, str]]:
    """The text, piece by piece, and of each whether its spaces and lines count."""
    # Without recursion: a page may be deeper than the stack.
    waiting: list[LexborNode | str] = [root]  # a tag where its block ends
    depth = 0  # of elements in which they count
    begins = True  # a line
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            depth -= node == _SET
            if not (depth and begins):
                yield depth > 0, "\n"
            begins = True
            continue
        if node.next is not None:
            waiting.append(node.next)
        tag = node.tag or ""
        if tag in _UNSEEN:
            continue
        if tag == "-text":
            text = node.text_content or ""
            yield depth > 0, text if depth else text.replace("\n", " ")
            begins = text.endswith("\n")
        elif tag == "br":
            yield depth > 0, "\n"
            begins = True
        elif tag not in _INLINE:
            mark = "- " if tag == "li" else _HEADINGS.get(tag, "")
            if not (depth and begins):
                yield depth > 0, "\n" if depth else f"\n{mark}"
            begins = True
            depth += tag == _SET
            waiting.append(tag)
        if node.child is not None:
            waiting.append(node.child)
