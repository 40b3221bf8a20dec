"""What must not get into a file that is committed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote_plus

__all__ = ["Secrets", "hidden", "masked"]

# What headers and query parameters are called that hold a secret, or say whose it is.
_NAMES = re.compile(
    r"api[-_]?key|auth(?!enticate)|cookie|credential|(?<![a-z])key|password|secret|session"
    r"|sig(nature)?$|token(?!s)|account|organi[sz]ation|project",
    re.IGNORECASE,
)
_HIDDEN = b"hidden"
_SHORTEST = 8  # what is shorter may be a word of the text


class Secrets:
    """Know secrets by their names, and find their values wherever else they are.

    Args:
        names: Further names of headers and query parameters.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower() for name in names}

    def has(self, name: str) -> bool:
        """Whether what is called ``name`` is to be hidden."""
        return name.lower() in self._names or _NAMES.search(name) is not None

    def without(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the headers that may be shown."""
        return [(name, value) for name, value in headers if not self.has(name)]

    def path(self, path: str) -> str:
        """Return a path with its query, in which values are hidden."""
        place, mark, query = path.partition("?")
        return place + mark + "&".join(map(self._parameter, query.split("&")))

    def values(self, headers: Iterable[tuple[str, str]], path: str) -> list[bytes]:
        """Return the secrets themselves, the longest first."""
        found = set[str]()
        for name, value in headers:
            if self.has(name):
                found.update(_values(name.lower(), value))
        for parameter in path.partition("?")[2].split("&"):
            name, _, value = parameter.partition("=")
            if self.has(unquote_plus(name)):
                found.update((value, unquote_plus(value)))
        long = (each.encode() for each in found if len(each) >= _SHORTEST)
        return sorted(long, key=len, reverse=True)

    def _parameter(self, parameter: str) -> str:
        name, equals, _ = parameter.partition("=")
        if equals and self.has(unquote_plus(name)):
            return f"{name}={_HIDDEN.decode()}"
        return parameter


def _values(name: str, header: str) -> list[str]:
    """What is secret in a header."""
    if "cookie" not in name:
        return [header, *header.split()]  # `Bearer` stands before a key
    cookies = header.split(";")
    if name == "set-cookie":
        del cookies[1:]  # what follows says how it is to be kept
    return [cookie.partition("=")[2].strip() for cookie in cookies]


def hidden(data: bytes, values: Iterable[bytes]) -> bytes:
    """Return data in which another word stands for each secret."""
    for value in values:
        data = data.replace(value, _HIDDEN)
    return data


def masked(pieces: Sequence[bytes], values: Iterable[bytes]) -> list[bytes]:
    """Return pieces, as long as they were, in which no secret is left.

    Args:
        pieces: A secret may be cut anywhere.
        values: The secrets.
    """
    whole = b"".join(pieces)
    for value in values:
        whole = whole.replace(value, b"*" * len(value))
    found, start = list[bytes](), 0
    for piece in pieces:
        found.append(whole[start : start + len(piece)])
        start += len(piece)
    return found
