"""MCP servers over streamable HTTP, on loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rxagent.errors import ToolFailedError
from rxagent.integrations.mcp import McpProgress, McpServer
from tests.integrations.busy_server import busy_server
from tests.integrations.http_server import HttpServer
from tests.integrations.mcp_servers import (
    answer_of,
    events_of,
    progress_in,
)


class Guarded:
    """Lets in who has the key, and keeps the headers of every request."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._key in Request(scope).headers.values():
            await self._app(scope, receive, send)
        else:
            await Response(status_code=401)(scope, receive, send)


def url_of(http: HttpServer) -> str:
    return f"{http.url}/mcp"


def serving(port: int = 0) -> HttpServer:
    return HttpServer(busy_server().streamable_http_app(), port)


def test_a_tool_is_called_over_http() -> None:
    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            assert (await answer_of(server, "add", a=1, b=2)).value == {"result": 3}
            events = await events_of(server, "count", to=2)
            assert progress_in(events) == [
                McpProgress(done=n, total=2, message=f"step {n}") for n in (1, 2)
            ]

    with serving() as http:
        asyncio.run(scenario())


def test_the_tools_come_anew_over_http_too() -> None:
    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            seen: list[tuple[Any, ...]] = []
            async for tools in server.tools():
                seen.append(tools)
                if len(seen) == 2:
                    break
                await answer_of(server, "grow", tools=tools, name="moss")
            assert len(seen[1]) == len(seen[0]) + 1

    with serving() as http:
        asyncio.run(asyncio.wait_for(scenario(), 30))


def test_disposing_a_call_cancels_it_over_http_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))

    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            hanging = asyncio.ensure_future(events_of(server, "hang"))
            while not notes.exists():
                await asyncio.sleep(0.001)
            hanging.cancel()
            while "cancelled" not in notes.read_text():
                await asyncio.sleep(0.001)
            assert (await answer_of(server, "add", a=1, b=2)).failure is None

    with serving() as http:
        asyncio.run(asyncio.wait_for(scenario(), 30))


def test_headers_are_sent_and_a_refusal_says_what_to_check() -> None:
    app = busy_server().streamable_http_app()
    app.user_middleware.append(Middleware(Guarded, key="secret-1"))

    async def scenario() -> None:
        async with McpServer.http(
            url_of(http), headers={"x-key": "secret-1"}
        ) as server:
            assert (await answer_of(server, "add", a=1, b=2)).failure is None
        async with McpServer.http(
            url_of(http), headers={"x-key": "secret-2"}
        ) as server:
            with pytest.raises(ToolFailedError, match=r"HTTP 401.*headers") as refused:
                await server.tools_now()
            assert refused.value.kind == "environment"
            assert "secret" not in str(refused.value)

    with HttpServer(app) as http:
        asyncio.run(scenario())


def test_requests_may_be_signed() -> None:
    class Signed(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Any:
            request.headers["x-key"] = "secret-1"
            yield request

    app = busy_server().streamable_http_app()
    app.user_middleware.append(Middleware(Guarded, key="secret-1"))

    async def scenario() -> None:
        async with McpServer.http(url_of(http), auth=Signed()) as server:
            assert (await answer_of(server, "add", a=1, b=2)).failure is None

    with HttpServer(app) as http:
        asyncio.run(scenario())


def test_a_server_that_is_not_there_is_a_failure_of_the_environment() -> None:
    with serving() as http:
        url = url_of(http).replace("http://", "http://me:secret@")

    async def scenario() -> None:
        async with McpServer.http(url) as server:
            with pytest.raises(ToolFailedError, match="cannot be reached") as lost:
                await server.tools_now()
            assert lost.value.kind == "environment"
            assert "secret" not in str(lost.value)

    asyncio.run(scenario())


def test_a_server_that_speaks_no_tls_cannot_be_reached_by_https() -> None:
    async def scenario() -> None:
        url = url_of(http).replace("http:", "https:")
        async with McpServer.http(url) as server:
            with pytest.raises(ToolFailedError, match="cannot be reached"):
                await server.tools_now()

    with serving() as http:
        asyncio.run(scenario())


def test_what_is_no_mcp_server_is_a_failure_of_the_environment() -> None:
    def hello(request: Request) -> Response:
        return PlainTextResponse("hello", status_code=500)

    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            with pytest.raises(ToolFailedError, match="error response") as failed:
                await server.tools_now()
            assert failed.value.kind == "environment"

    routes = [Route("/mcp", hello, methods=["GET", "POST"])]
    with HttpServer(Starlette(routes=routes)) as http:
        asyncio.run(scenario())


def test_a_server_that_went_away_fails_the_call_and_is_there_again_later() -> None:
    async def scenario() -> None:
        async with McpServer.http(f"http://127.0.0.1:{port}/mcp") as server:
            with first:
                tools = await server.tools_now()
            done = await answer_of(server, "add", tools=tools, a=1, b=2)
            assert done.failure == "environment"
            with serving(port):
                done = await answer_of(server, "add", tools=tools, a=1, b=2)
                assert done.value == {"result": 3}

    first = serving()
    port = first.port
    asyncio.run(scenario())


class Forgetful:
    """A server of the protocol's 2025 revisions, which have sessions over HTTP."""

    def __init__(self) -> None:
        self.sessions: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/mcp", self.get, methods=["GET", "DELETE"]),
                Route("/mcp", self.post, methods=["POST"]),
            ]
        )

    def get(self, request: Request) -> Response:
        return Response(status_code=405)

    async def post(self, request: Request) -> Response:
        message = await request.json()
        method, identity = message["method"], message.get("id")
        if identity is None:
            return Response(status_code=202)
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": identity}
        if method == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            return JSONResponse({**reply, "error": error}, status_code=404)
        if method == "initialize":
            self.sessions.append(session := f"s{len(self.sessions)}")
            result: Any = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "forgetful", "version": "1"},
            }
            headers = {"mcp-session-id": session}
            return JSONResponse({**reply, "result": result}, headers=headers)
        if request.headers["mcp-session-id"] != self.sessions[-1]:
            return Response(status_code=404)
        if method == "tools/list":
            named = [{"name": n, "inputSchema": {"type": "object"}} for n in "ab"]
            return JSONResponse({**reply, "result": {"tools": named}})
        if message["params"]["name"] == "b":
            return Response("", media_type="text/event-stream")
        content = [{"type": "text", "text": request.headers["mcp-session-id"]}]
        return JSONResponse({**reply, "result": {"content": content}})


def test_a_session_that_the_server_forgot_is_opened_again() -> None:
    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            assert (await answer_of(server, "a")).value == "s0"
            forgetful.sessions.append("s1")  # as if it had been started again
            assert (await answer_of(server, "a")).value == "s2"
            tools = await server.tools_now()
            forgetful.sessions.append("s3")
            assert (await answer_of(server, "a", tools=tools)).value == "s4"

    forgetful = Forgetful()
    with HttpServer(forgetful.app) as http:
        asyncio.run(scenario())


def test_an_answer_that_breaks_off_fails_that_call_alone() -> None:
    async def scenario() -> None:
        async with McpServer.http(url_of(http)) as server:
            done = await answer_of(server, "b")
            assert done.failure == "environment"
            assert "broke off its answer" in done.message.text
            assert (await answer_of(server, "a")).value == "s0"

    forgetful = Forgetful()
    with HttpServer(forgetful.app) as http:
        asyncio.run(scenario())
