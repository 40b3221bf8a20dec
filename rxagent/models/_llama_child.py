"""The process of a llama.cpp server: run as a script by `LlamaServer`, never imported.

One line of JSON comes in on stdin, the settings; one goes out on stdout, the address or
what is wrong.  It ends when stdin does, so it never outlives its parent.

A process of its own, because in the caller's xllamacpp holds the interpreter while it
loads, and hangs for ever when it is stopped during a request.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Protocol, TypedDict, cast

# Prompts that are kept in memory, to go on from; llama.cpp's own default is 8 GiB.
_PROMPT_CACHE_MIB = 512
_ERRORS, _EVERYTHING = 1, 3


class Settings(TypedDict):
    """What comes in."""

    path: str
    name: str
    key: str
    threads: int
    context_tokens: int
    verbose: bool


class _Server(Protocol):
    """The part of xllamacpp that is used here; it has no types."""

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
    def CommonParams(self) -> _Params: ...  # noqa: N802 - its name
    def Server(self, params: _Params, /) -> _Server: ...  # noqa: N802


def _start(settings: Settings) -> _Server:
    xllamacpp = cast("_Xllamacpp", importlib.import_module("xllamacpp"))
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.port = 0
    # Any page in a browser may talk to a port of this machine; it has no key.
    params.api_keys = [settings["key"]]
    params.ui = False
    params.use_jinja = True
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = 1
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.verbosity = _EVERYTHING if settings["verbose"] else _ERRORS
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until stdin ends."""
    # Ctrl-C is for the parent, which may go on and want another answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = cast("Settings", json.loads(sys.stdin.readline()))
    server = None
    try:
        server = _start(settings)
        said = {"url": server.listening_address}
    except (RuntimeError, ImportError) as error:
        said = {"error": str(error)}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    if server is not None:
        sys.stdin.read()
    os._exit(0)  # an orderly end would wait for requests


if __name__ == "__main__":
    main()
