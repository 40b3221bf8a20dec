from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    ModelError,
    ModelNotFoundError,
    OverloadedError,
    RateLimitError,
    ServerError,
)
from rxagent.wire import OpenAIChatDialect
from rxagent.wire.provider_errors import (
    error_of_payload,
    error_of_response,
    reported_error,
)

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


def error(
    status: int, body: object = b"", headers: dict[str, str] | None = None
) -> ModelError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return OpenAIChatDialect().error(status, headers or {}, data, now=NOW)


def openai(message: str, **members: object) -> dict[str, object]:
    return {"error": {"message": message, **members}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, openai("x"), BadRequestError, False),
        (422, {"detail": "x"}, BadRequestError, False),
        (402, openai("x"), BadRequestError, False),
        (
            400,
            openai("input length and `max_tokens` exceed context limit: 9 + 8 > 10"),
            ContextLengthError,
            False,
        ),
        (401, openai("x"), AuthenticationError, False),
        (403, b"", AuthenticationError, False),
        (404, openai("x", code="model_not_found"), ModelNotFoundError, False),
        (413, b"", ContextLengthError, False),
        (400, openai("x", code="context_length_exceeded"), ContextLengthError, False),
        (400, openai("x", type="exceed_context_size_error"), ContextLengthError, False),
        (
            400,
            openai("This model's maximum context length is 8192 tokens."),
            ContextLengthError,
            False,
        ),
        (
            500,
            openai("the request exceeds the available context size"),
            ContextLengthError,
            False,
        ),
        (
            400,
            openai(
                "The input token count (9) exceeds the maximum number of tokens "
                "allowed (8)."
            ),
            ContextLengthError,
            False,
        ),
        (429, openai("x", code="rate_limit_exceeded"), RateLimitError, True),
        (429, openai("x", code="insufficient_quota"), RateLimitError, False),
        (429, openai("x", type="insufficient_quota"), RateLimitError, False),
        (500, b"", ServerError, True),
        (502, b"<html></html>", ServerError, True),
        (504, b"", ServerError, True),
        (408, b"", ServerError, True),
        (409, b"", BadRequestError, True),
        (503, b"", OverloadedError, True),
        (529, b"", OverloadedError, True),
        (599, b"", ServerError, True),
    ],
)
def test_the_status_decides_the_class_and_whether_to_retry(
    status: int, body: object, kind: type[ModelError], retryable: bool
) -> None:
    found = error(status, body)

    assert type(found) is kind
    assert (found.status, found.retryable) == (status, retryable)
    assert found.provider == "openai"
    assert str(status) in str(found)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            openai("No 'frequency'.", param="frequency", code="unknown_parameter"),
            "No 'frequency'. (param: frequency, code: unknown_parameter)",
        ),
        ({"error": "plain"}, "plain"),
        ({"message": "flat", "code": "c"}, "flat (code: c)"),
        ({"object": "error", "message": "old vLLM", "code": 400}, "old vLLM"),
        ({"detail": "fast"}, "fast"),
        (
            {
                "detail": [
                    {"loc": ["body", "n"], "msg": "not a number"},
                    {"msg": "also"},
                ]
            },
            "body.n: not a number; also",
        ),
        ({"error": {"detail": {"msg": "deep"}}}, "deep"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ("just text", "just text"),
        (b"<html><head><title>502 Bad\nGateway</title></head>", "502 Bad Gateway"),
        (b"<html><body><h1>Down</h1></body></html>", "Down"),
        (b"<p>no title</p>", "an HTML page"),
        (b"  plain text \n", "plain text"),
        (b"\xff\xfe", "\ufffd"),
        (openai("half \ud83d"), "half \ufffd"),
    ],
)
def test_the_words_of_the_provider_are_shown_whatever_their_shape(
    body: object, words: str
) -> None:
    """http-400-body-in-pieces, http-502-html."""
    message = str(error(400, body))

    assert message.startswith("openai answered 400 Bad Request: ")
    assert words in message
    message.encode()


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"error": {}}', b"1"])
def test_a_body_without_words_leaves_the_status(body: bytes) -> None:
    assert str(error(400, body)) == "openai answered 400 Bad Request"


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "check the API key"),
        (404, "check the model's name and base_url"),
        (413, "shorten the conversation"),
    ],
)
def test_what_can_be_done_is_said(status: int, hint: str) -> None:
    assert hint in str(error(status, openai("x")))


def test_the_code_of_the_provider_is_an_attribute() -> None:
    assert error(400, openai("x", code="c", type="t")).code == "c"
    assert error(400, openai("x", type="t")).code == "t"
    assert error(400).code is None


@pytest.mark.parametrize("status", [429, 503, 500])
def test_a_hint_when_to_come_back_is_read_from_any_error(status: int) -> None:
    found = error(status, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"})

    assert found.retry_after_s == 30
    assert error(status).retry_after_s is None


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF123456",
        "gsk_abcdef123456",
        "AIzaSyA0123456789abcdefghij",
        "AQ.Ab8RN6I0123456789abcdefghij",
    ],
)
def test_a_key_that_the_provider_repeats_is_not_shown(key: str) -> None:
    found = error(401, openai(f"Incorrect key provided: {key}. Header: Bearer {key}"))

    assert key not in str(found)
    assert "Incorrect key provided: [secret]" in str(found)


def test_a_page_of_a_megabyte_is_not_repeated() -> None:
    message = str(error(500, b"x" * 1_000_000))

    assert len(message) < 1200
    assert "(1000000 characters)" in message


def google(code: int, status: str, *details: dict[str, object]) -> dict[str, object]:
    return openai("words", code=code, status=status, details=details)


def test_a_bad_key_is_one_though_google_calls_it_a_bad_argument() -> None:
    invalid = google(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"})

    found = error(400, [invalid])

    assert type(found) is AuthenticationError
    assert (found.status, found.code) == (400, "API_KEY_INVALID")
    assert type(error(400, google(400, "INVALID_ARGUMENT"))) is BadRequestError


def test_a_word_of_google_is_the_code_and_not_the_number() -> None:
    assert error(429, google(429, "RESOURCE_EXHAUSTED")).code == "RESOURCE_EXHAUSTED"
    assert error(500, openai("x", code=500)).code == "500"
    assert error(400, {"status": "fail", "message": "x"}).code is None


def test_google_says_in_the_body_when_to_come_back() -> None:
    busy = google(429, "RESOURCE_EXHAUSTED", {"retryDelay": "34.4s"})

    assert error(429, busy).retry_after_s == 34.4
    assert error(429, busy, {"retry-after": "7"}).retry_after_s == 7


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("INVALID_ARGUMENT", BadRequestError),
        ("FAILED_PRECONDITION", BadRequestError),
        ("UNAUTHENTICATED", AuthenticationError),
        ("PERMISSION_DENIED", AuthenticationError),
        ("NOT_FOUND", ModelNotFoundError),
        ("RESOURCE_EXHAUSTED", RateLimitError),
        ("INTERNAL", ServerError),
        ("UNAVAILABLE", OverloadedError),
        ("DEADLINE_EXCEEDED", ServerError),
    ],
)
def test_a_word_of_google_tells_the_class_where_there_is_no_number(
    status: str, kind: type[ModelError]
) -> None:
    payload = openai("words", status=status)

    assert type(error_of_payload("gemini", payload)) is kind


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "code", "loc", "msg", "type"]
            ),
            inner,
        )
    ),
)


@given(st.sampled_from([400, 404, 429, 500, 418, 799]), json_values)
def test_any_body_makes_an_error_of_the_family(status: int, body: object) -> None:
    found = error(status, body)

    assert found.status == status
    str(found).encode()


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Request-Id": "req_1"}, b""),
        ({"x-request-id": "req_1"}, openai("x")),
        ({}, {"type": "error", "error": {"message": "x"}, "request_id": "req_1"}),
        ({"request-id": "req_1"}, {"error": {}, "request_id": "other"}),
    ],
)
def test_the_name_of_the_request_is_kept_for_support(
    headers: dict[str, str], body: object
) -> None:
    found = error(500, body, headers)

    assert found.request_id == "req_1"
    assert "request id: req_1" in str(found)


def test_a_request_without_a_name_has_none() -> None:
    assert error(500).request_id is None


def test_a_provider_may_know_better_what_to_do() -> None:
    error = error_of_response(
        "p", 404, {}, b"no such thing", now=NOW, hints={404: "ask in the garage"}
    )

    assert str(error) == "p answered 404 Not Found: no such thing; ask in the garage"


def test_every_word_of_an_error_fits_utf_8() -> None:
    half = "\ud800"
    told = error_of_payload("p", {"error": {"code": half, "message": half}})

    assert told.code == "\ufffd"
    str(told).encode()


@pytest.mark.parametrize("payload", [[1, 2, 3], 7, None, []])
def test_a_body_that_says_nothing_of_an_error_is_no_report_of_one(
    payload: object,
) -> None:
    assert reported_error("p", payload) is None
