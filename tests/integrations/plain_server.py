"""An MCP server of the protocol's 2025 revisions, on stdio, written without the SDK.

It is as old as most servers, and does what the SDK's own would not.  ``NOTES`` in the
environment names a file that takes every message that comes; ``LIST`` says how tools
are listed: ``paged``, ``endless``, ``twins`` or ``none``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]

NAMES = ["echo", "grow", "ask", "open", "sample", "locked", "broken", "junk", "hang"]
SCHEMAS: dict[str, Json] = {
    "echo": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "string"}]}},
    },
}
grown: list[str] = []


def note(line: str) -> None:
    if path := os.environ.get("NOTES"):
        with Path(path).open("a") as notes:
            notes.write(f"{line}\n")


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def received() -> Json:
    line = sys.stdin.readline()
    if not line:
        note("ended")
        sys.exit()
    note(line.strip())
    message: Json = json.loads(line)
    return message


def ask(method: str, **params: Any) -> Json:
    """Ask the client, and wait for the answer to that."""
    send(id="q1", method=method, params=params)
    while (message := received()).get("id") != "q1":
        pass
    return message


def text(said: object) -> Json:
    return {"content": [{"type": "text", "text": str(said)}]}


def listed(params: Json) -> Json:
    how = os.environ.get("LIST", "paged")
    names = [*NAMES, *grown] if how != "twins" else ["a.b", "a b"]
    tools = [
        {"name": name, "inputSchema": SCHEMAS.get(name, {"type": "object"})}
        for name in names
    ]
    if how == "twins":
        return {"tools": tools}
    at = int(params.get("cursor", 0))
    page: Json = {"tools": tools[at : at + 4]}
    if at + 4 < len(tools) or how == "endless":
        page["nextCursor"] = str((at + 4) % 8 if how == "endless" else at + 4)
    return page


def grow(arguments: Json) -> Json:
    grown.append(arguments["name"])
    send(method="notifications/tools/list_changed")
    return text("grown")


def asked(arguments: Json) -> Json:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    answer = ask("elicitation/create", message="Name?", requestedSchema=schema)
    return text(json.dumps(answer.get("result") or answer["error"]["message"]))


def opened(arguments: Json) -> Json:
    answer = ask(
        "elicitation/create",
        mode="url",
        message="Pay.",
        url="https://pay.example/1",
        elicitationId="p1",
    )
    return text(json.dumps(answer.get("result") or answer["error"]["message"]))


def sampled(arguments: Json) -> Json:
    kind = arguments.get("type", "text")
    content = {"type": kind, kind: "2 + 2?"}
    if kind == "tool_result":
        content = {"type": kind, "toolUseId": "1", "content": []}
    messages = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": {"type": "text", "text": "Hm."}},
    ]
    answer = ask("sampling/createMessage", messages=messages, maxTokens=7)
    return text(json.dumps(answer.get("result") or answer["error"]["message"]))


CALLS: dict[str, Callable[[Json], Json]] = {
    "echo": lambda arguments: text(json.dumps(arguments)),
    "grow": grow,
    "ask": asked,
    "open": opened,
    "sample": sampled,
    "junk": lambda _: {"content": [{"type": "smell", "smell": "of roses"}]},
}
ERRORS: dict[str, Json] = {
    "locked": {
        "code": -32042,
        "message": "open https://host/consent first",
        "data": {"elicitations": []},
    },
    "broken": {"code": -32603, "message": "out of memory"},
}


def answer(message: Json) -> None:
    identity, method = message["id"], message["method"]
    params = message.get("params", {})
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        if os.environ.get("LIST") == "none":
            capabilities = {}
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": {"name": "plain", "version": "1"},
        }
        send(id=identity, result=result)
    elif method == "tools/list":
        send(id=identity, result=listed(params))
    elif method == "tools/call" and params["name"] == "hang":
        token = params["_meta"]["progressToken"]
        progress = {"progressToken": token, "progress": 1}
        send(method="notifications/progress", params=progress)
    elif method == "tools/call" and (error := ERRORS.get(params["name"])):
        send(id=identity, error=error)
    elif method == "tools/call" and (call := CALLS.get(params["name"])):
        send(id=identity, result=call(params.get("arguments", {})))
    elif method == "tools/call":
        error = {"code": -32602, "message": f"Unknown tool: {params['name']}"}
        send(id=identity, error=error)
    else:
        error = {"code": -32601, "message": "Method not found"}
        send(id=identity, error=error)


if __name__ == "__main__":
    note(f"started {os.getpid()}")
    while True:
        if "id" in (message := received()) and "method" in message:
            answer(message)
