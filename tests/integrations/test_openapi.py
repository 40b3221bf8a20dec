"""The operations of an OpenAPI document as tools, against a server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from rxagent import Agent
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.events import ToolFinished
from rxagent.integrations.openapi import openapi_tools
from rxagent.messages import Audio, File, Image, ToolCall
from rxagent.requests import Origin
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolEvent, ToolRules, run_call, tool_index
from tests.integrations.http_server import HttpServer

Json = dict[str, Any]

DOCUMENT: Json = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "get": {
                "operationId": "pets.get",
                "summary": "Show a pet.",
                "description": "With its friends.",
                "parameters": [
                    {
                        "name": "fields",
                        "in": "query",
                        "description": "What to show.",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                    {"name": "x-trace", "in": "header", "schema": {"type": "string"}},
                    {"name": "x-key", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
            },
            "put": {
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"$ref": "#/components/schemas/Pet"}
                        }
                    },
                }
            },
        }
    },
    "components": {
        "parameters": {
            "id": {
                "name": "id",
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
            }
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "nullable": True},
                    "age": {
                        "type": "number",
                        "minimum": 0,
                        "exclusiveMinimum": True,
                        "exclusiveMaximum": False,
                    },
                    "friends": {
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/Pet"},
                    },
                },
            }
        },
    },
}


def one(operation: Json, *, path: str = "/echo", method: str = "post") -> Json:
    """A document of one operation, named ``it``."""
    described = {"operationId": "it", **operation}
    return {"openapi": "3.1.0", "paths": {path: {method: described}}}


def query(schema: Json, **more: object) -> Json:
    return one({"parameters": [{"name": "q", "in": "query", "schema": schema, **more}]})


async def echo(request: Request) -> Response:
    body = (await request.body()).decode()
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.url.query,
            "headers": dict(request.headers),
            "body": body,
        }
    )


async def answer(request: Request) -> Response:
    """Whatever the query asks for."""
    asked = request.query_params
    return Response(
        asked.get("body", ""), int(asked.get("status", "200")), media_type=asked["type"]
    )


async def away(request: Request) -> Response:
    return RedirectResponse("http://127.0.0.1:1/elsewhere")


@pytest.fixture(scope="module")
def http() -> Iterator[HttpServer]:
    methods = ["GET", "POST", "PUT"]
    routes = [
        Route("/answer", answer),
        Route("/away", away),
        Route("/{rest:path}", echo, methods=methods),
    ]
    with HttpServer(Starlette(routes=routes)) as server:
        yield server


def call(
    http: HttpServer,
    document: Mapping[str, object],
    name: str,
    arguments: Mapping[str, object],
    *,
    headers: Mapping[str, str] | None = None,
) -> ToolFinished:
    tools = tool_index(openapi_tools(document, base_url=http.url, headers=headers))
    asked = ToolCall(id="c1", name=name, arguments=json.dumps(arguments))
    running = run_call(asked, tools, context=Context(), origin=Origin())
    *_, done = Flow[ToolEvent].of(running)
    assert isinstance(done, ToolFinished)
    return done


def echoed(http: HttpServer, document: Json, **arguments: object) -> Json:
    done = call(http, document, "it", arguments)
    assert done.failure is None, done.message.text
    assert isinstance(done.value, dict)
    return done.value


def test_an_operation_is_a_tool_with_its_name_and_its_words() -> None:
    get, put = openapi_tools(DOCUMENT, base_url="https://host/v1")
    assert (get.name, put.name) == ("pets_get", "put_pets__id_")
    assert get.description == "Show a pet.\n\nWith its friends."
    properties: Any = get.parameters["properties"]
    assert properties["fields"]["description"] == "What to show."
    assert [*properties] == ["id", "fields", "x-trace", "x-key"]
    assert get.parameters["required"] == ["id"]


def test_schemas_come_along_in_the_words_of_json_schema() -> None:
    _, put = openapi_tools(DOCUMENT, base_url="https://host/v1")
    definitions: Any = put.parameters["$defs"]
    pet = definitions["Pet"]["properties"]
    assert pet["name"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert pet["age"] == {"type": "number", "exclusiveMinimum": 0}
    assert pet["friends"]["items"] == {"$ref": "#/$defs/Pet"}


def test_an_agent_calls_an_operation(http: HttpServer) -> None:
    model = ScriptedModel(
        Reply(calls=(tool_call("pets_get", id="rex", fields=["name", "age"]),)), "Rex"
    )
    tools = openapi_tools(DOCUMENT, base_url=http.url)
    assert Agent(model, tools=tools).call("Who?").run().text == "Rex"
    seen = json.loads(model.requests[1].messages[-1].text)
    assert seen["path"] == "/pets/rex"
    assert seen["query"] == "fields=name&fields=age"


def test_arguments_are_checked_before_anything_is_sent(http: HttpServer) -> None:
    done = call(http, DOCUMENT, "put_pets__id_", {"id": "rex", "body": {"age": -1}})
    assert done.attempts == 0
    assert "body: 'name' is a required property" in done.message.text


def test_headers_of_the_caller_are_sent_and_are_no_arguments(http: HttpServer) -> None:
    headers = {"X-Key": "secret"}
    (get, _) = openapi_tools(DOCUMENT, base_url=http.url, headers=headers)
    properties: Any = get.parameters["properties"]
    assert "x-key" not in properties
    assert "secret" not in repr(get)
    done = call(
        http, DOCUMENT, "pets_get", {"id": "rex", "x-trace": "t1"}, headers=headers
    )
    value: Any = done.value
    assert value["headers"]["x-key"] == "secret"
    assert value["headers"]["x-trace"] == "t1"


@pytest.mark.parametrize(
    ("value", "step"),
    [
        ("a b", "a%20b"),
        ("../x", "..%2Fx"),
        ("ä?#", "%C3%A4%3F%23"),
        (["a", "b"], "a%2Cb"),
    ],
)
def test_a_path_takes_a_value_as_one_step(
    http: HttpServer, value: object, step: str
) -> None:
    document = one(
        {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {}}]},
        path="/pets/{id}/toys",
    )
    assert echoed(http, document, id=value)["path"] == f"/pets/{step}/toys"


@pytest.mark.parametrize("value", [".", "..", ""])
def test_a_value_that_would_lead_elsewhere_is_refused(
    http: HttpServer, value: str
) -> None:
    done = call(http, DOCUMENT, "pets_get", {"id": value})
    assert done.failure == "semantic"
    assert "is no part of an address" in done.message.text


@pytest.mark.parametrize(
    ("more", "value", "written"),
    [
        ({}, "a b&c", "q=a+b%26c"),
        ({}, True, "q=true"),
        ({}, 1.5, "q=1.5"),
        ({}, ["a", 1], "q=a&q=1"),
        ({"explode": False}, ["a", 1], "q=a%2C1"),
        ({}, {"a": 1, "b": 2}, "a=1&b=2"),
        ({"explode": False}, {"a": 1}, "q=a%2C1"),
        ({"style": "deepObject"}, {"a": 1}, "q%5Ba%5D=1"),
    ],
)
def test_a_query_is_written_in_the_style_of_its_parameter(
    http: HttpServer, more: Json, value: object, written: str
) -> None:
    assert echoed(http, query({}, **more), q=value)["query"] == written


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "ä"])
def test_a_header_takes_no_more_than_itself(http: HttpServer, value: str) -> None:
    document = one(
        {"parameters": [{"name": "x-a", "in": "header", "schema": {"type": "string"}}]}
    )
    done = call(http, document, "it", {"x-a": value})
    assert done.failure == "semantic"
    assert "printable ASCII" in done.message.text


@pytest.mark.parametrize(
    ("media_type", "value", "body"),
    [
        ("application/json", {"a": [1]}, '{"a":[1]}'),
        ("application/merge-patch+json", {"a": None}, '{"a":null}'),
        (
            "application/x-www-form-urlencoded",
            {"a": "x y", "b": [1, 2]},
            "a=x+y&b=1&b=2",
        ),
        ("text/plain; charset=utf-8", "hällo", "hällo"),
    ],
)
def test_a_body_is_written_as_its_type_wants(
    http: HttpServer, media_type: str, value: object, body: str
) -> None:
    document = one({"requestBody": {"content": {media_type: {"schema": {}}}}})
    seen = echoed(http, document, body=value)
    assert seen["body"] == body
    assert seen["headers"]["content-type"] == media_type


def test_parameters_of_one_name_are_told_apart(http: HttpServer) -> None:
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {}},
        {"name": "id", "in": "query", "schema": {}},
    ]
    document = one({"parameters": parameters}, path="/x/{id}")
    seen = echoed(http, document, path_id="a", query_id="b")
    assert (seen["path"], seen["query"]) == ("/x/a", "id=b")


ANSWER = one(
    {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string"}}
            for name in ("status", "type", "body")
        ]
    },
    path="/answer",
    method="get",
)


@pytest.mark.parametrize(
    ("media_type", "body", "value"),
    [
        ("application/json", '{"a": 1}', {"a": 1}),
        ("application/problem+json", "[1]", [1]),
        ("application/json", "no json", "no json"),
        ("text/html", "<p>", "<p>"),
        ("image/png", "PNG", Image(data=b"PNG", media_type="image/png")),
        ("audio/mpeg", "MP3", Audio(data=b"MP3", media_type="audio/mpeg")),
        ("application/pdf", "PDF", File(data=b"PDF", media_type="application/pdf")),
        ("text/plain", "", "HTTP 200 OK"),
    ],
)
def test_an_answer_is_what_its_type_says(
    http: HttpServer, media_type: str, body: str, value: object
) -> None:
    assert call(http, ANSWER, "it", {"type": media_type, "body": body}).value == value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("400", "semantic"),
        ("404", "semantic"),
        ("401", "environment"),
        ("403", "environment"),
        ("429", "transient"),
        ("503", "transient"),
    ],
)
def test_an_error_is_of_the_kind_that_says_who_can_do_better(
    http: HttpServer, status: str, kind: str
) -> None:
    done = call(
        http,
        ANSWER,
        "it",
        {"type": "text/plain", "status": status, "body": "no cheese"},
    )
    assert done.failure == kind
    assert f"HTTP {status} " in done.message.text
    assert "no cheese" in done.message.text


@pytest.mark.parametrize("status", ["200", "401", "500"])
def test_a_key_that_the_server_repeats_is_not_shown(
    http: HttpServer, status: str
) -> None:
    """With its scheme and without, and where a long complaint is cut."""
    key = "sk-0123456789"
    body = f"{'x' * 980} no: {key} {key}, Bearer {key}"
    done = call(
        http,
        ANSWER,
        "it",
        {"type": "text/plain", "status": status, "body": body},
        headers={"authorization": f"Bearer {key}"},
    )

    assert "sk-" not in done.message.text
    assert "no: [secret]" in done.message.text


def test_a_long_complaint_is_cut(http: HttpServer) -> None:
    done = call(
        http, ANSWER, "it", {"type": "text/plain", "status": "400", "body": "x" * 5_000}
    )
    assert len(done.message.text) < 1_100


def test_bytes_are_no_complaint(http: HttpServer) -> None:
    done = call(
        http, ANSWER, "it", {"type": "image/png", "status": "400", "body": "PNG"}
    )
    assert done.message.text == "ToolFailedError: HTTP 400 Bad Request"


def test_a_redirect_is_not_followed(http: HttpServer) -> None:
    done = call(http, one({}, path="/away", method="get"), "it", {})
    assert done.failure == "semantic"
    assert "HTTP 307" in done.message.text


def test_a_server_that_is_not_there_is_a_transient_failure() -> None:
    with HttpServer(Starlette()) as gone:
        pass
    for scheme in ("http", "https"):
        url = f"{scheme}://me:secret@127.0.0.1:{gone.port}"
        tools = tool_index(openapi_tools(one({}), base_url=url))
        asked = ToolCall(id="c1", name="it")
        running = run_call(asked, tools, context=Context(), origin=Origin())
        *_, done = Flow[ToolEvent].of(running)
        assert isinstance(done, ToolFinished)
        assert done.failure == "transient"
        assert "secret" not in done.message.text


def test_some_operations_some_names_and_rules_may_be_chosen() -> None:
    rules = ToolRules(retries=2)
    (get,) = openapi_tools(
        DOCUMENT,
        base_url="https://host",
        where=lambda method, path: method == "get",
        prefix="shop.",
        rules=rules,
    )
    assert get.name == "shop_pets_get"
    assert get.rules == rules


def test_the_address_is_that_of_the_document_if_none_is_given() -> None:
    assert openapi_tools({**DOCUMENT, "servers": [{"url": "https://host/v1"}]})
    for servers in ([{"url": "/v1"}], [], None):
        with pytest.raises(ConfigurationError, match="base_url"):
            openapi_tools({**DOCUMENT, "servers": servers})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"swagger": "2.0"}, "no OpenAPI 3"),
        ({"openapi": "3.1.0", "paths": []}, "paths: an object is missing"),
        (
            one({"parameters": [{"$ref": "other.json#/a"}]}),
            r"POST /echo: a parameter: 'other\.json#/a' is not in the document",
        ),
        (one({"parameters": [{"$ref": "#/no/where"}]}), "leads nowhere"),
        (query({"$ref": "https://host/schema"}), "is not in the document"),
        (
            one({"requestBody": {"$ref": "#/paths/~1echo/post/requestBody"}}),
            "refers to itself",
        ),
        (
            one(
                {
                    "requestBody": {
                        "required": True,
                        "content": {"multipart/form-data": {}},
                    }
                }
            ),
            "its body may be multipart/form-data, which is not supported",
        ),
        (query({}, style="pipeDelimited", required=True), "query parameter 'q'"),
        (
            one(
                {
                    "parameters": [
                        {"name": "s", "in": "cookie", "required": True, "schema": {}}
                    ]
                }
            ),
            "cookie parameter 's'",
        ),
        (query({"type": "nothing"}), "no JSON Schema"),
        (
            {
                "openapi": "3.1.0",
                "paths": {
                    "/a": {"get": {"operationId": "x"}, "put": {"operationId": "x"}}
                },
            },
            "two tools are named 'x'",
        ),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_its_place(
    document: Json, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        openapi_tools(document, base_url="https://host")


def test_what_an_operation_can_do_without_is_left_out() -> None:
    document = one(
        {
            "parameters": [{"name": "s", "in": "cookie", "schema": {}}],
            "requestBody": {"content": {"multipart/form-data": {}}},
        }
    )
    (it,) = openapi_tools(document, base_url="https://host")
    assert it.parameters["properties"] == {}


def test_a_document_without_paths_has_no_tools() -> None:
    assert openapi_tools({"openapi": "3.1.0"}, base_url="https://host") == ()


def test_definitions_of_one_name_are_told_apart() -> None:
    schema = {"allOf": [{"$ref": "#/a/Pet"}, {"$ref": "#/b/Pet"}], "description": "p"}
    document = {
        **query(schema),
        "a": {"Pet": {"type": "string"}},
        "b": {"Pet": {"minLength": 1}},
    }
    (it,) = openapi_tools(document, base_url="https://host")
    assert it.parameters["$defs"] == {
        "Pet": {"type": "string"},
        "Pet_": {"minLength": 1},
    }


def test_calls_leave_no_task_and_no_connection(http: HttpServer) -> None:
    async def scenario() -> None:
        (it,) = openapi_tools(one({}), base_url=http.url)
        function: Any = it.function
        await asyncio.gather(*(function() for _ in range(10)))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())
