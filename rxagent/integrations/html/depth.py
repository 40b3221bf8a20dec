"""How deep a page is, without reading it.

To read HTML takes time that grows with its size times its depth, and where text is
formatted by elements that nothing ends, memory too: 80 kB can become 3 GB.
"""

from __future__ import annotations

import re
from collections import Counter

from rxagent.errors import DocumentError

__all__ = ["check_depth"]

_MAX_DEPTH = 1_000  # browsers go down to 512

_TAG = re.compile(r"<!--|<(/?)([a-z][^\s/>]*)([^<>]*)", re.IGNORECASE)
_RAW_TAGS = "iframe noembed noframes script style textarea title xmp"
_RAW = frozenset(_RAW_TAGS.split())
# They have no end, or the next one of their kind is the end of one.
_FLAT_TAGS = (
    "a area base body br button col colgroup dd dt embed head hr html img input li "
    "link meta option p param rp rt source tbody td tfoot th thead tr track wbr"
)
_FLAT = frozenset(_FLAT_TAGS.split())


def check_depth(page: str) -> None:
    """Refuse a page that would take too long.

    Args:
        page: HTML, well-formed or not.

    Raises:
        DocumentError: If there are too many elements that have begun and not ended.
    """
    opened = Counter[str]()
    depth = at = 0
    while found := _TAG.search(page, at):
        at = found.end()
        ends, name, attributes = found.groups()
        if name is None:
            at = _after("-->", page, at - 2)  # "<!-->" is a whole comment
            continue
        name = name.lower()
        # In a drawing or a formula "/>" ends an element, and nowhere else.
        is_drawn = opened["svg"] + opened["math"] > 0
        if ends:
            is_open = opened[name] > 0
            opened[name] -= is_open
            depth -= is_open
        elif name in _RAW:
            at = _after(f"</{name}", page, at)
        elif name not in _FLAT and not (is_drawn and attributes.endswith("/")):
            opened[name] += 1
            depth += 1
        if depth > _MAX_DEPTH:
            raise DocumentError(
                "",
                f"has over {_MAX_DEPTH:,} elements that are within each other, or that "
                "nothing ends; make its HTML less deep, or leave it out",
            )


def _after(end: str, page: str, at: int) -> int:
    found = re.compile(re.escape(end), re.IGNORECASE).search(page, at)
    return len(page) if found is None else found.end()
