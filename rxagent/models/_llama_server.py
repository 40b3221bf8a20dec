"""A llama.cpp server in a child process, started when it is first needed."""

from __future__ import annotations

import json
import logging
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from rxagent.errors import ModelConnectionError, ServerError
from rxagent.types import Exchange

__all__ = ["Address", "LlamaServer", "LlamaSettings"]

_CHILD = Path(__file__).with_name("_llama_child.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSettings:
    """What a server is started with.

    Args:
        path: Of a GGUF file.
        name: Of the model.
        threads: For computing.
        context_tokens: Longest prompt and answer together, in tokens.
        verbose: Let llama.cpp write its log to stderr.
    """

    path: str
    name: str
    threads: int
    context_tokens: int
    verbose: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens, on loopback, and the key that it wants."""

    url: str
    key: str = field(repr=False)


class _Said(TypedDict, total=False):
    """What the child says: one of the two."""

    url: str
    error: str


class LlamaServer:
    """Started on first use, by whoever comes first; stopped for good.

    It stops, too, when nobody holds it any more, and when the program ends.

    Args:
        settings: What to start.
        connect: Makes the exchange that talks to it.
        log: Takes the progress of the start.
    """

    def __init__(
        self,
        settings: LlamaSettings,
        *,
        connect: Callable[[Address], Exchange],
        log: logging.Logger,
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._log = log
        self._lock = threading.Lock()
        self._started: Future[Exchange] | None = None
        self._starting: threading.Thread | None = None
        self._closed = False
        self._children: list[subprocess.Popen[bytes]] = []  # the one that serves
        # Here, so that at the end of the program streams are cancelled first.
        weakref.finalize(self, _end_all, self._children)

    def start(self) -> Future[Exchange]:
        """Start in a thread of its own, unless that is under way or done.

        Returns:
            A future that cannot be cancelled.  The next call tries again after a start
            that failed, and after a server that died.
        """
        with self._lock:
            if self._closed:
                failed = Future[Exchange]()
                failed.set_exception(self._closed_error())
                return failed
            started = self._started
            if started is None or (started.done() and not self._is_alive()):
                self._started = started = Future[Exchange]()
                started.set_running_or_notify_cancel()
                self._starting = threading.Thread(
                    target=self._load,
                    args=(started,),
                    name="rxagent-load",
                    daemon=True,  # the end of the program does not wait for a model
                )
                self._starting.start()
            return started

    def close(self) -> None:
        """Stop for good, also a start that is under way, and wait for the end."""
        with self._lock:
            self._closed = True
            _end_all(self._children)
            starting = self._starting
        if starting is not None:
            starting.join()

    def _is_alive(self) -> bool:
        return bool(self._children) and self._children[0].poll() is None

    def _load(self, started: Future[Exchange]) -> None:
        settings = self._settings
        path = Path(settings.path)
        began = time.perf_counter()
        try:
            # It was there when the model was built; llama.cpp tells if it has gone.
            megabytes = path.stat().st_size / 1e6 if path.is_file() else 0
            self._log.info(
                "loading %s (%.0f MB) from %s", settings.name, megabytes, path.parent
            )
            exchange = self._connect(self._serve())
            seconds = time.perf_counter() - began
            self._log.info("%s is ready in %.1f s", settings.name, seconds)
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            started.set_exception(error)
        else:
            started.set_result(exchange)

    def _serve(self) -> Address:
        key = secrets.token_urlsafe(24)
        with tempfile.TemporaryFile() as complaints:
            child = self._spawn(None if self._settings.verbose else complaints.fileno())
            said = _told(child, {**asdict(self._settings), "key": key})
            if url := said.get("url"):
                return Address(url=url, key=key)
            _end_all([child])
            if self._closed:
                raise self._closed_error()
            complaints.seek(0)
            log = complaints.read().decode(errors="replace")
        raise self._failed(_reason(log) or said.get("error") or _last_words(child))

    def _spawn(self, stderr: int | None) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            try:
                child = subprocess.Popen(
                    [sys.executable, "-P", str(_CHILD)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    bufsize=0,  # no locks, which a daemon thread could hold at the end
                )
            except OSError as error:
                raise self._failed(f"no process can be started: {error}") from error
            _end_all(self._children)  # one that died
            self._children[:] = [child]
            return child

    def _failed(self, reason: str) -> ServerError:
        return ServerError(
            f"llama.cpp cannot load {self._settings.path}: {reason}; is the file "
            "complete, and its kind of model known to the installed xllamacpp? "
            "verbose=True shows the whole log",
            provider="llama.cpp",
            retryable=False,
        )

    def _closed_error(self) -> ModelConnectionError:
        return ModelConnectionError(
            f"the local model {self._settings.name} is closed; make a new LocalChat",
            provider="llama.cpp",
            retryable=False,
        )


def _told(child: subprocess.Popen[bytes], settings: Mapping[str, object]) -> _Said:
    """Give ``child`` its settings, and return what it says when it is ready."""
    assert child.stdin is not None, "Popen was asked for a pipe"
    assert child.stdout is not None, "Popen was asked for a pipe"
    with suppress(BrokenPipeError):  # it is dead, and will say nothing
        child.stdin.write(f"{json.dumps(settings)}\n".encode())
    with child.stdout as stdout:
        line = stdout.readline()
    return cast("_Said", json.loads(line)) if line else {}


def _end_all(children: Iterable[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()  # it only computes, so there is nothing to lose
        child.wait()
        if child.stdin is not None:
            child.stdin.close()


def _reason(log: str) -> str:
    """The line of llama.cpp's log that says most, without its time and level."""
    errors = [line.partition(" E ")[2].strip() for line in log.splitlines()]
    telling = [line for line in errors if "error loading model" in line]
    return (telling or [line for line in errors if line] or [""])[0]


def _last_words(child: subprocess.Popen[bytes]) -> str:
    return f"its process ended with status {child.returncode}"
