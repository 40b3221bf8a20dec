"""A browser that goes away ends the answer at the provider, too."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from tests.runtime.upstream import SECONDS, Upstream


@contextmanager
def serving(upstream: Upstream) -> Generator[int]:
    """The port of the application; it must stop well, with nothing on stderr."""
    command = [sys.executable, "-X", "dev", "-W", "error"]
    with subprocess.Popen(
        [*command, "-m", "tests.runtime.web_app", upstream.base_url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            port = int(child.stdout.readline())
            yield port
            get(port, "/stop")
            _, err = child.communicate(timeout=SECONDS)
            assert (child.returncode, err) == (0, "")
        finally:
            child.kill()


def get(port: int, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("GET", path, headers={"connection": "close"})
    body = connection.getresponse().read()
    connection.close()
    return body


def what_is_left(port: int) -> dict[str, int]:
    found: dict[str, int] = json.loads(get(port, "/left"))
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What there is more of; the first answer may not have quite ended before."""
    return {
        name: after[name] - before[name] for name in after if after[name] > before[name]
    }


@contextmanager
def asking(port: int) -> Generator[socket.socket]:
    """A client in the middle of an answer."""
    with socket.socket() as client:
        client.settimeout(SECONDS)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /ask?q=hi HTTP/1.1\r\nhost: here\r\n\r\n")
        received = b""
        while b"xx" not in received:
            received += client.recv(1_000)
        yield client


# The model thinks, or the client is slow and everything is paused.
@pytest.mark.parametrize(("items", "chars", "times"), [(1, 2, 10), (10_000, 2_000, 2)])
def test_a_client_that_leaves_closes_the_providers_connection(
    items: int, chars: int, times: int
) -> None:
    with Upstream(items=items, chars=chars) as upstream, serving(upstream) as port:
        with asking(port):
            pass  # builds the client of the model
        upstream.left.get(timeout=SECONDS)
        before = what_is_left(port)

        for _ in range(times):
            with asking(port):
                if items > 1:
                    upstream.stalled(0.05)
            # How soon is for bench/dispose.py to say.
            upstream.left.get(timeout=SECONDS)

        until = time.monotonic() + SECONDS
        while (more := grown(before, what_is_left(port))) and time.monotonic() < until:
            pass
        assert more == {}
