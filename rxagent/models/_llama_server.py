"""A llama.cpp server inside this process, by xllamacpp, an optional package."""

from __future__ import annotations

import importlib
import logging
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from rxagent.errors import ModelConnectionError, ServerError
from rxagent.types import Exchange

__all__ = ["Address", "LlamaServer", "LlamaSettings"]

# Prompts that the server keeps in memory, to go on from; its own default is 8 GiB.
_PROMPT_CACHE_MIB = 512
_SILENT = -1
_VERBOSE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSettings:
    """What a server is started with.

    Args:
        path: Of a GGUF file.
        threads: For computing.
        context_tokens: Longest prompt and answer together, in tokens.
        verbose: Let llama.cpp write its log to stderr.
    """

    path: Path
    threads: int
    context_tokens: int
    verbose: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens, on loopback, and the key that it wants."""

    url: str
    key: str = field(repr=False)


class LlamaServer:
    """Started on first use, once; stopped for good.

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
        self._stopped = False
        # Whoever drops the last reference ends its requests and joins its threads.
        # A server that is left to the end of the interpreter can crash it.
        self._native: list[_Native] = []
        weakref.finalize(self, self._native.clear)

    def start(self) -> Future[Exchange]:
        """Start in a thread of its own, unless that is under way or done.

        Returns:
            A future that cannot be cancelled.  A start that failed is tried again by
            the next call.
        """
        with self._lock:
            if self._stopped:
                failed = Future[Exchange]()
                failed.set_exception(self._closed())
                return failed
            started = self._started
            if started is None or (started.done() and started.exception()):
                self._started = started = Future[Exchange]()
                started.set_running_or_notify_cancel()
                # No daemon: the interpreter must not end while native code loads.
                self._starting = threading.Thread(
                    target=self._load, args=(started,), name="rxagent-load"
                )
                self._starting.start()
            return started

    def close(self) -> None:
        """Stop for good and wait for the end."""
        with self._lock:
            self._stopped = True
            self._native.clear()
            starting = self._starting
        if starting is not None:
            starting.join()

    def _load(self, started: Future[Exchange]) -> None:
        path = self._settings.path
        try:
            self._log.info(
                "loading %s (%.0f MB) from %s",
                path.stem,
                path.stat().st_size / 1e6,
                path.parent,
            )
            began = time.perf_counter()
            exchange = self._serve()
            seconds = time.perf_counter() - began
            self._log.info("%s is ready in %.1f s", path.stem, seconds)
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            started.set_exception(error)
        else:
            started.set_result(exchange)

    def _serve(self) -> Exchange:
        key = secrets.token_urlsafe(24)
        try:
            native = _start(self._settings, key=key)
        except RuntimeError as error:
            raise ServerError(
                f"llama.cpp cannot load {self._settings.path}; is the file complete, "
                "of a model that can chat, and not newer than the installed "
                "xllamacpp? verbose=True shows llama.cpp's log",
                provider="llama.cpp",
                retryable=False,
            ) from error
        address = Address(url=native.listening_address, key=key)
        with self._lock:
            if self._stopped:
                raise self._closed()
            self._native.append(native)
        return self._connect(address)

    def _closed(self) -> ModelConnectionError:
        return ModelConnectionError(
            f"the local model {self._settings.path.stem} is closed; make a new one",
            provider="llama.cpp",
            retryable=False,
        )


class _Native(Protocol):
    """The part of ``xllamacpp.Server`` that is used here; it has no types."""

    @property
    def listening_address(self) -> str: ...


class _Cpu(Protocol):
    n_threads: int


class _Model(Protocol):
    path: str


class _Params(Protocol):
    model: _Model
    model_alias: set[str]
    api_keys: list[str]
    port: int
    ui: bool
    use_jinja: bool
    n_ctx: int
    n_parallel: int
    cache_ram_mib: int
    cpuparams: _Cpu
    cpuparams_batch: _Cpu
    verbosity: int


class _Xllamacpp(Protocol):
    """The part of the module ``xllamacpp`` that is used here."""

    def CommonParams(self) -> _Params: ...  # noqa: N802 - its name
    def Server(self, params: _Params, /) -> _Native: ...  # noqa: N802


def _start(settings: LlamaSettings, *, key: str) -> _Native:
    xllamacpp = cast("_Xllamacpp", importlib.import_module("xllamacpp"))
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.model_alias = {settings.path.stem}
    params.port = 0
    # Any page in a browser may talk to a port of this machine; it has no key.
    params.api_keys = [key]
    params.ui = False
    params.use_jinja = True
    params.n_ctx = settings.context_tokens
    params.n_parallel = 1
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.verbosity = _VERBOSE if settings.verbose else _SILENT
    return xllamacpp.Server(params)
