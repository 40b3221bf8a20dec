"""What providers say when something is wrong, as typed errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    MalformedResponseError,
    ModelError,
    ModelNotFoundError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    ServerError,
)
from rxagent.wire.complaint import Complaint, complaint_of, read_complaint
from rxagent.wire.error_words import BROKEN_OFF, STATUS_OF_WORD
from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.retry_after import retry_after_s
from rxagent.wire.surrogates import join_surrogates

__all__ = [
    "error_of_end",
    "error_of_payload",
    "error_of_response",
    "reported_error",
]

_REQUEST_ID = ("request-id", "x-request-id")  # headers: Anthropic's, then OpenAI's
_LONGEST = 1000  # characters of the provider's words in a message

_SECRET = re.compile(
    r"\b(?:sk|gsk|csk|xai|nvapi|pplx|hf|r8)[-_][\w*.-]{6,}|\b(?:AIza|AQ\.)[\w-]{20,}"
    r"|(?<=Bearer )\S+",
    re.ASCII,
)
_TOO_LONG = re.compile(
    r"maximum context length|exceed_context_size|longer than the context length"
    r"|context[ _](length|window|size)[ _](is |was |limit )?exceeded"
    r"|exceed context limit"
    r"|exceeds? (the |its )?(available |maximum |model's )*context|prompt is too long"
    r"|input token count (\(\d+\) )?exceeds",
    re.IGNORECASE,
)

_BAD_KEY = {"API_KEY_EXPIRED", "API_KEY_INVALID"}  # Google says 400


def error_of_response(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
    hints: Mapping[int, str] | None = None,
) -> ModelError:
    """Make the error of an HTTP response.  The status decides; the body tells.

    Args:
        provider: Whose response it is.
        status: Any that no answer has.
        headers: Of the response.
        body: JSON, HTML or nothing.
        now: The present, for a date in ``Retry-After``.
        hints: What to do, by status, where this provider wants something of its own.
    """
    complaint = complaint_of(body.decode("utf-8", "replace"))
    hint = retry_after_s(headers, now=now)
    found = {name.lower(): value for name, value in headers.items()}
    error = _error(
        provider,
        complaint,
        status=status,
        said=f"{provider} answered {_phrase(status)}",
        retry_after=complaint.retry_after_s if hint is None else hint,
        request_id=next((found[name] for name in _REQUEST_ID if found.get(name)), None),
        own_hint=_moved(status, found) or (hints or {}).get(status),
    )
    if (
        found.get("x-should-retry") == "false"
    ):  # OpenAI's and Anthropic's clients heed it
        error.retryable = False
    return error


def error_of_payload(provider: str, payload: object) -> ModelError:
    """Make the error that a provider reports within a successful response.

    Args:
        provider: Whose response it is.
        payload: What came, decoded: an object with ``error``, or the error itself.
    """
    complaint = read_complaint(payload)
    status = complaint.status
    said = f"{provider} reports an error in its answer"
    return _error(
        provider,
        complaint,
        status=status,
        said=f"{said}: {_phrase(status)}" if status else said,
        retry_after=complaint.retry_after_s,
    )


def _moved(status: int, headers: Mapping[str, str]) -> str | None:
    """What to do about a redirect; a query in it may be secret."""
    if not 300 <= status < 400 or "location" not in headers:
        return None
    try:
        to = urlsplit(headers["location"])
    except ValueError:
        return None
    scheme = f"{to.scheme}://" if to.scheme else ""
    place = f"{scheme}{to.netloc.rpartition('@')[2]}{to.path}"
    return f"redirects are not followed; it points to {place}, so check base_url"


def reported_error(provider: str, payload: object) -> ModelError | None:
    """Make the error that JSON reports where an answer should be; ``None`` if none.

    Args:
        provider: Whose answer it is.
        payload: What came: an object with ``error``, or an array of such.
    """
    first = payload[0] if is_array(payload) and payload else payload
    if is_object(first) and first.get("error"):
        return error_of_payload(provider, payload)
    return None


def error_of_end(provider: str, reason: str | None) -> ModelError | None:
    """Make the error of an answer that ends in the middle, for a reason of theirs.

    Args:
        provider: Whose answer it is.
        reason: Its word for why the answer has ended.

    Returns:
        An error that may be retried; ``None`` if the answer has ended well.
    """
    if reason is None or reason.lower() not in BROKEN_OFF:
        return None
    broken = Complaint(message="the generation broke off", code=reason)
    error = _error(
        provider,
        broken,
        status=None,
        said=f"the answer of {provider} is no whole one",
        retry_after=None,
    )
    error.retryable = True
    return error


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _error(
    provider: str,
    complaint: Complaint,
    *,
    status: int | None,
    said: str,
    retry_after: float | None,
    request_id: str | None = None,
    own_hint: str | None = None,
) -> ModelError:
    request_id = request_id or complaint.request_id
    family, hint, retryable = _family(status, complaint)
    hint = own_hint or hint
    words = _SECRET.sub("[secret]", join_surrogates(complaint.message))
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}… ({len(words)} characters)"
    named = [
        f"{name}: {word}"
        for name, word in (
            ("param", complaint.param),
            ("code", complaint.code),
            ("request id", request_id),
        )
        if word and word != str(status)
    ]
    about = f" ({join_surrogates(', '.join(named))})" if named else ""
    told = f": {words}" if words else ""
    code = complaint.code
    return family(
        f"{said}{told}{about}{'; ' + hint if hint else ''}",
        provider=provider,
        status=status,
        code=join_surrogates(code) if code else code,
        retry_after_s=retry_after,
        retryable=retryable,
        request_id=join_surrogates(request_id) if request_id else request_id,
    )


def _family(
    status: int | None, complaint: Complaint
) -> tuple[type[ModelError], str, bool | None]:
    """The class, what to do, and whether to retry (``None``: as the class says)."""
    for word in (complaint.code, complaint.kind):
        status = status or STATUS_OF_WORD.get((word or "").lower())
    words = f"{complaint.code} {complaint.kind} {complaint.message}"
    if _TOO_LONG.search(words) and status in {None, 400, 413, 422, 500}:
        return ContextLengthError, "shorten the conversation or the tools", None
    if complaint.code in _BAD_KEY:
        status = 401
    match status:
        case None:
            return ProviderStreamError, "", None
        case 401 | 403:
            return AuthenticationError, "check the API key and what it may do", None
        case 404:
            return ModelNotFoundError, "check the model's name and base_url", None
        case 413:
            return ContextLengthError, "shorten the conversation or the tools", None
        case 429 if "insufficient_quota" in (complaint.code, complaint.kind):
            return (
                RateLimitError,
                "check the plan and the billing of the account",
                False,
            )
        case 429:
            return RateLimitError, "", None
        case 503 | 529:
            return OverloadedError, "", None
        case 408:
            return ServerError, "", None
        case 409:  # a lock that another request holds
            return BadRequestError, "", True
        case _ if status >= 500:
            return ServerError, "", None
        case _ if status < 300:
            return MalformedResponseError, "that is no answer; check base_url", None
        case _ if status < 400:
            return BadRequestError, "redirects are not followed; check base_url", None
        case _:
            return BadRequestError, "", None
