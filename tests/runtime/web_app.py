"""A Starlette application under uvicorn that streams the answers of an agent.

Run: python -m tests.runtime.web_app PROVIDER_URL; its port is its first line.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rxagent import Agent
from rxagent.models import OpenAIChat
from tests.runtime.upstream import open_sockets


def main() -> None:
    """Serve until somebody asks for /stop."""
    agent = Agent(OpenAIChat(model="m", base_url=sys.argv[1], api_key="k"))

    async def ask(request: Request) -> Response:
        return StreamingResponse(agent.stream(request.query_params["q"]).text())

    async def left(_: Request) -> Response:
        return JSONResponse(
            {
                "tasks": len(asyncio.all_tasks()),
                "sockets": open_sockets(),
                "threads": threading.active_count(),
            }
        )

    async def stop(_: Request) -> Response:
        server.should_exit = True
        return Response()

    routes = [Route("/ask", ask), Route("/left", left), Route("/stop", stop)]
    config = uvicorn.Config(Starlette(routes=routes), log_level="warning")
    server = uvicorn.Server(config)
    # How long a callback took is the machine's affair.
    asyncio_log = logging.getLogger("asyncio")
    asyncio_log.addFilter(lambda record: "took" not in str(record.msg))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # Else the system takes megabytes for a client that reads nothing.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        server.run(sockets=[listener])


if __name__ == "__main__":
    main()
