"""Tools of the operations that an OpenAPI document describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from rxagent.errors import ConfigurationError
from rxagent.integrations.openapi.document import Document
from rxagent.integrations.openapi.operation import Operation
from rxagent.integrations.openapi.sending import Sender
from rxagent.tools import Tool, ToolRules, tool_index
from rxagent.tools.json_schema import check_against
from rxagent.tools.safe_name import safe_name
from rxagent.tools.tool import AnyTool

__all__ = ["openapi_tools"]

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def openapi_tools(
    document: Mapping[str, object],
    *,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    where: Callable[[str, str], bool] | None = None,
    prefix: str = "",
    rules: ToolRules | None = None,
    read_timeout_s: float = 60.0,
) -> tuple[AnyTool, ...]:
    """Make a tool of each operation of an OpenAPI document.

    A tool has the name of the operation's ``operationId``, else of its method and path,
    and takes its parameters and its ``body`` as arguments, which are checked.  The
    result is the JSON, the text or the media that the server answers.

    An answer of 401 or 403 is a failure of the environment; a busy or broken server,
    and one that cannot be reached, is a transient one; any other error is for the model
    to see.  Redirects are not followed, as they might carry the headers elsewhere.

    Args:
        document: Of version 3, parsed, and whole: references to other files are not
            followed.
        base_url: Where the paths begin; else the document's first server.
        headers: Sent with every request, such as a key; never shown, and no arguments,
            though the document may list them.
        where: Which operations, by method (such as ``"get"``) and path; by default all.
        prefix: Put before the names.
        rules: How they run.
        read_timeout_s: Longest silence of the server, in seconds.

    Returns:
        The tools, in the order of the document.  Each call has a connection of its own,
        so nothing has to be closed.

    Raises:
        ConfigurationError: If the document is none, an operation cannot be a tool, two
            have one name, or there is no address.
    """
    read = Document(document)
    headers = dict(headers or {})
    given = {name.lower() for name in headers}
    address = base_url or read.text("servers", "0", "url")
    if urlsplit(address).scheme not in ("http", "https"):
        raise ConfigurationError(
            "the document does not say where its server is; pass base_url='https://...'"
        )
    sender = Sender(address, headers, read_timeout_s=read_timeout_s)
    tools = tuple(
        _tool(
            Operation.read(read, method, path, shared, given=given),
            read,
            sender,
            prefix=prefix,
            rules=rules or ToolRules(),
        )
        for path, shared in read.paths()
        for method in _METHODS
        if method in shared and (where is None or where(method, path))
    )
    tool_index(tools)
    return tools


def _tool(
    operation: Operation,
    document: Document,
    sender: Sender,
    *,
    prefix: str,
    rules: ToolRules,
) -> AnyTool:
    name = safe_name(prefix + operation.name)
    schema = operation.schema(document)

    async def function(**arguments: object) -> object:
        return await sender.send(operation.request(arguments))

    return Tool(
        name=name,
        description=operation.description,
        parameters=schema,
        function=function,
        check=check_against(schema, tool=name),
        runs="on_loop",
        rules=rules,
    )
