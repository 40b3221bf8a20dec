"""What a provider says when something is wrong, wherever it says it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rxagent.wire import google_details
from rxagent.wire.json_text import is_array, is_object, load_json

__all__ = ["Complaint", "complaint_of", "read_complaint"]

_PAGE = 10_000  # characters of a page in which its title is looked for
_TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """The provider's words, wherever in the body they were.

    Args:
        message: What happened.
        code: Its word for the error.
        kind: Its word for the kind of error.
        param: The member of the request that it is about.
        status: The HTTP status that the body names.
        request_id: Its name of the request.
        retry_after_s: When it wants to be asked again.
    """

    message: str = ""
    code: str | None = None
    kind: str | None = None
    param: str | None = None
    status: int | None = None
    request_id: str | None = None
    retry_after_s: float | None = None


def complaint_of(body: str) -> Complaint:
    """Read the body of an error: JSON, a page or plain words.

    Args:
        body: All of it.
    """
    try:
        return read_complaint(load_json(body))
    except ValueError:
        pass
    if body.lstrip().startswith("<"):
        title = _TITLE.search(body[:_PAGE])
        words = title[2] if title else "an HTML page"
        return Complaint(message=" ".join(words.split()))
    return Complaint(message=body.strip())


def read_complaint(payload: object) -> Complaint:
    """Read decoded JSON: an object with ``error``, or the error itself.

    Args:
        payload: What came.
    """
    if is_array(payload) and payload:
        return read_complaint(payload[0])
    if not is_object(payload):
        return Complaint(message=payload if isinstance(payload, str) else "")
    request_id = _word(payload.get("request_id"))
    inner = payload.get("error")
    if is_object(inner) or is_array(inner):
        complaint = read_complaint(inner)
        return replace(complaint, request_id=complaint.request_id or request_id)
    message = next(
        (
            text
            for name in ("message", "error", "detail", "error_message", "msg")
            if (text := _sentence(payload.get(name)))
        ),
        "",
    )
    code, kind = _word(payload.get("code")), _word(payload.get("type"))
    if code is None or code.isdecimal():
        # Google's number is the HTTP status; its words are elsewhere.
        status = payload.get("status")
        said = status if isinstance(status, str) and status.isupper() else code
        code = google_details.reason(payload) or said
    return Complaint(
        message=message,
        code=code or kind,
        kind=kind,
        param=_word(payload.get("param")),
        status=_status(payload),
        request_id=request_id,
        retry_after_s=google_details.retry_delay_s(payload),
    )


def _status(payload: dict[str, object]) -> int | None:
    for name in ("status_code", "StatusCode", "status", "http_status", "code"):
        value = payload.get(name)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def _sentence(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if is_array(value):  # FastAPI: one object for each parameter
        return "; ".join(filter(None, (_sentence(each) for each in value)))
    if is_object(value):
        where = value.get("loc")
        path = ".".join(str(step) for step in where) if is_array(where) else ""
        what = _sentence(value.get("msg") or value.get("message"))
        return f"{path}: {what}" if path and what else what
    return ""


def _word(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None
