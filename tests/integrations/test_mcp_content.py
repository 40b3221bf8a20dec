"""What an MCP server sends, as parts of a message, and as failures."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pytest
from mcp import MCPError, types

from rxagent.errors import ToolFailedError
from rxagent.integrations.mcp.content import part_of, result_of
from rxagent.integrations.mcp.failures import failure_of, lost
from rxagent.messages import Audio, File, Text


def embedded(uri: str, mime_type: str | None) -> types.EmbeddedResource:
    blob = base64.b64encode(b"data").decode()
    resource = types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=blob)
    return types.EmbeddedResource(resource=resource)


@pytest.mark.parametrize(
    ("uri", "mime_type", "part"),
    [
        ("file:///a.mp3", "audio/mpeg", Audio(data=b"data", media_type="audio/mpeg")),
        (
            "file:///dir/a.bin",
            None,
            File(data=b"data", media_type="application/octet-stream", name="a.bin"),
        ),
        (
            "memo://",
            "text/x",
            File(data=b"data", media_type="text/x", name="file"),
        ),
    ],
)
def test_a_resource_of_bytes_is_what_its_type_says(
    uri: str, mime_type: str | None, part: object
) -> None:
    assert part_of(embedded(uri, mime_type)) == part


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"a": 1}, '{"a":1}'), ([1], "[1]"), (0, "0"), (False, "false"), ("", '""')],
)
def test_structured_content_alone_is_shown_as_json(value: object, shown: str) -> None:
    result = result_of(types.CallToolResult(content=[], structured_content=value))
    assert result.value == value
    assert result.content == (Text(text=shown),)


def test_a_result_of_nothing_is_nothing() -> None:
    result = result_of(types.CallToolResult(content=[]))
    assert (result.value, result.content) == ((), ())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "the tool failed and does not say why"),
        (
            [
                types.TextContent(text="look:"),
                types.ImageContent(data="", mime_type="image/png"),
            ],
            "look:\n[image/png]",
        ),
    ],
)
def test_a_failure_says_what_the_server_says(content: Any, said: str) -> None:
    with pytest.raises(ToolFailedError) as failed:
        result_of(types.CallToolResult(content=content, is_error=True))
    assert str(failed.value) == said
    assert failed.value.kind == "semantic"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (types.INVALID_PARAMS, "semantic"),
        (types.METHOD_NOT_FOUND, "semantic"),
        (types.INTERNAL_ERROR, "transient"),
        (types.REQUEST_TIMEOUT, "transient"),
        (types.CONNECTION_CLOSED, "environment"),
        (types.URL_ELICITATION_REQUIRED, "environment"),
        (-1, "semantic"),
    ],
)
def test_an_error_of_the_protocol_has_a_kind(code: int, kind: str) -> None:
    failure = failure_of("s", MCPError(code=code, message="no"))
    assert failure.kind == kind
    assert "'s'" in str(failure)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (None, "the server ended it"),
        (FileNotFoundError(2, "No such file"), "cannot be started: No such file"),
        (TimeoutError(), "does not answer in time"),
        (httpx2.ConnectError("http://me:key@host"), "cannot be reached"),
        (httpx2.ReadError("http://me:key@host"), "ReadError"),
        (OSError("key"), "OSError"),
        (MCPError(code=1, message="no version in common"), "no version in common"),
        (
            ExceptionGroup("", [TimeoutError(), ExceptionGroup("", [TimeoutError()])]),
            "'s': it does not answer in time; raise connect_timeout_s if it is slow",
        ),
    ],
)
def test_a_lost_connection_says_why_and_shows_no_key(
    reason: Exception | None, said: str
) -> None:
    failure = lost("s", reason)
    assert said in str(failure)
    assert str(failure).count("in time") <= 1
    assert "key" not in str(failure)
    assert failure.kind == "environment"
