"""Pictures, sounds and documents that are sent."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from urllib.parse import unquote_to_bytes

from rxagent.errors import RequestError
from rxagent.messages import File, Image, Text, UserPart

__all__ = ["data_url", "in_bytes"]


_DATA = "data:"


def in_bytes(part: UserPart) -> UserPart:
    """Return a part whose address is a data URL as the bytes in it.

    Args:
        part: Any other part comes back as it is.

    Raises:
        RequestError: If the address is no data URL after all.

    Source: RFC 2397
    """
    if isinstance(part, Text) or part.url is None:
        return part
    if part.url[: len(_DATA)].lower() != _DATA:
        return part
    head, comma, body = part.url[len(_DATA) :].partition(",")
    media_type, *settings = head.split(";")
    try:
        data = unquote_to_bytes(body)
        if "base64" in settings:
            data = b64decode(data, validate=True)
    except ValueError as error:
        raise RequestError(f"a data URL cannot be read: {error}") from None
    if not comma:
        raise RequestError("a data URL has no comma, and so nothing in it")
    kind = media_type or part.media_type
    return replace(part, data=data, url=None, media_type=kind)


def data_url(part: Image | File) -> str:
    """Return the bytes of a part as an address."""
    data = b64encode(part.data or b"").decode()
    return f"{_DATA}{part.media_type};base64,{data}"
