from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, cast

import httpx

from rxagent.choices import check_choice
from rxagent.testing._recorded import Answered, Asked, Cut, End, Failure, Recorded
from rxagent.testing._secrets import Secrets, hidden
from rxagent.testing._tape import Tape

__all__ = ["Cassette"]

Record: TypeAlias = Literal["once", "none", "all"]

_VARIABLE = "RXAGENT_RECORD"
_FAILURES: dict[str, type[httpx.RequestError]] = {
    kind.__name__: kind
    for kind in (
        httpx.ConnectTimeout,
        httpx.ReadTimeout,
        httpx.WriteTimeout,
        httpx.ConnectError,
        httpx.ReadError,
        httpx.WriteError,
        httpx.CloseError,
        httpx.LocalProtocolError,
        httpx.RemoteProtocolError,
        httpx.ProxyError,
        httpx.UnsupportedProtocol,
        httpx.DecodingError,
    )
}
# What says how a body was packed; it is passed on, and kept, as it is unpacked.
_OF_THE_PACKING = ("content-encoding", "content-length")
# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


class Cassette(httpx.AsyncBaseTransport):
    """Record what a provider answers, and answer the same without it.

    A transport: ``httpx.AsyncClient(transport=cassette)`` is a client for any model.
    A request is known again by its method, path, query and body, as JSON if it is
    some; equal ones are answered in the order in which they were recorded.  An answer
    comes in the cuts in which it came, unpacked if it was compressed.  One that failed
    fails again; one whose reader left before its end says no more after what was read,
    until the reader leaves or its read timeout is over.

    As a context manager, it checks at the end that every recorded request was made.

    Secrets are not written: no header of a request, of a response none that is called
    like a secret or says whose account it is, no such value of a query, and the values
    themselves nowhere else in request and response.

    Args:
        path: Of a file of JSON lines, one a request.
        record: ``"once"`` records if there is no file yet, ``"none"`` never, ``"all"``
            always and anew.  Default: ``"none"`` where ``CI`` is set, else ``"once"``.
            ``RXAGENT_RECORD`` of the environment overrules it.
        secrets: Further names of headers and query parameters to hide.
        timing: Also take the time that the answer took.

    Raises:
        ConfigurationError: If the file is no cassette, or ``record`` or
            ``RXAGENT_RECORD`` no mode.
        AssertionError: On a request that is not recorded; says what differs.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        record: Record | None = None,
        secrets: Iterable[str] = (),
        timing: bool = False,
    ) -> None:
        self._path = Path(path)
        self._secrets = Secrets(secrets)
        self._timing = timing
        mode = _mode(record)
        self._records = mode == "all" or (mode == "once" and not self._path.exists())
        self._tape = Tape(self._path, is_new=self._records)
        self._numbers = count()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a client."""
        body = await request.aread()
        path = request.url.raw_path.decode()
        values = self._secrets.values(request.headers.multi_items(), path)
        asked = Asked(
            method=request.method,
            path=hidden(self._secrets.path(path).encode(), values).decode(),
            body=hidden(body, values),
        )
        if self._records:
            return await self._record(request, asked, values)
        return await self._replay(request, asked)

    def assert_used_up(self) -> None:
        """Fail if a request is recorded that was not made."""
        left = [f"number {each.number}, {each.asked}" for each in self._tape.left()]
        assert not left, (
            f"{len(left)} of {len(self._tape)} requests of {self._path} were not made: "
            + "; ".join(left)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.assert_used_up()

    def __repr__(self) -> str:
        does = "records" if self._records else f"{len(self._tape)} requests"
        return f"Cassette({str(self._path)!r}, {does})"

    async def _record(
        self, request: httpx.Request, asked: Asked, values: list[bytes]
    ) -> httpx.Response:
        number, began = next(self._numbers), time.monotonic()

        def keep(answered: Answered | None, end: End) -> None:
            recorded = Recorded(number=number, asked=asked, answered=answered, end=end)
            self._tape.add(recorded.without(values))

        # One for each request: whichever loop that runs on, nothing is left behind.
        network = httpx.AsyncClient(mounts=_NO_PROXY)
        try:
            response = await network.send(request, stream=True)
        except (httpx.TransportError, asyncio.CancelledError) as error:
            keep(None, _end_of(error))
            await network.aclose()
            raise
        headers = response.headers.multi_items()
        if "content-encoding" in response.headers:
            headers = [each for each in headers if each[0] not in _OF_THE_PACKING]
        values += self._secrets.values(headers, "")

        def keep_body(cuts: list[tuple[float, bytes]], end: End) -> None:
            answered = Answered(
                status=response.status_code,
                headers=tuple(self._secrets.without(headers)),
                cuts=tuple(Cut(at_s=at_s - began, data=data) for at_s, data in cuts),
            )
            keep(answered, end)

        return httpx.Response(
            response.status_code,
            headers=headers,
            stream=_Recording(response, network, keep_body),
        )

    async def _replay(self, request: httpx.Request, asked: Asked) -> httpx.Response:
        recorded = self._tape.take(asked)
        answered = recorded.answered
        if answered is None:
            await _come_to(recorded.end, request)
        assert answered is not None, "what is complete has an answer"
        return httpx.Response(
            answered.status,
            headers=list(answered.headers),
            stream=_Replay(answered.cuts, recorded.end, request, timing=self._timing),
        )


class _Recording(httpx.AsyncByteStream):
    """A body that is passed on and kept."""

    def __init__(
        self,
        response: httpx.Response,
        network: httpx.AsyncClient,
        keep: Callable[[list[tuple[float, bytes]], End], None],
    ) -> None:
        self._response = response
        self._network = network
        self._keep = keep
        self._cuts: list[tuple[float, bytes]] = []
        self._end: End = "left"

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        try:
            # Not as it was packed: in that, no secret would be found.
            async for data in self._response.aiter_bytes():
                self._cuts.append((time.monotonic(), data))
                yield data
        except httpx.RequestError as error:
            self._end = _end_of(error)
            raise
        self._end = "complete"

    async def aclose(self) -> None:
        self._keep(self._cuts, self._end)
        try:
            await self._response.aclose()
        finally:
            await self._network.aclose()


class _Replay(httpx.AsyncByteStream):
    """A body that was kept."""

    def __init__(
        self,
        cuts: tuple[Cut, ...],
        end: End,
        request: httpx.Request,
        *,
        timing: bool,
    ) -> None:
        self._cuts = cuts
        self._end: End = end
        self._request = request
        self._timing = timing

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for cut in self._cuts:
            # Without timing, others still get their turn, as they do with a network.
            due = began + cut.at_s if self._timing else 0.0
            await asyncio.sleep(max(due - loop.time(), 0))
            yield cut.data
        await _come_to(self._end, self._request)


async def _come_to(end: End, request: httpx.Request) -> None:
    """End as it was recorded."""
    if isinstance(end, Failure):
        raise _FAILURES.get(end.kind, httpx.TransportError)(end.message)
    if end == "left":
        # The reader left here, and will again; or its patience ends, as it always does.
        patience_s: float | None = request.extensions.get("timeout", {}).get("read")
        await asyncio.sleep(math.inf if patience_s is None else patience_s)
        raise httpx.ReadTimeout("the recording ends here: whoever read it left")


def _end_of(error: BaseException) -> End:
    if isinstance(error, httpx.RequestError):
        return Failure(kind=type(error).__name__, message=str(error))
    return "left"


def _mode(record: Record | None) -> Record:
    default: Record = "none" if os.environ.get("CI") else "once"
    mode = default if record is None else record
    check_choice("record", mode, Record)
    named = os.environ.get(_VARIABLE)
    if not named:
        return mode
    check_choice(_VARIABLE, named, Record)
    return cast("Record", named)
