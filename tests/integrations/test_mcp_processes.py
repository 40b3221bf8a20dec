"""MCP servers that run as processes, also those that are older than the SDK."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx

from rxagent.errors import ConfigurationError, ToolFailedError
from rxagent.integrations.mcp import McpQuestion, McpServer
from rxagent.testing import ScriptedModel
from tests.integrations.mcp_servers import (
    answer_of,
    busy_process,
    events_of,
    plain_process,
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def lines(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def processes(notes: Path) -> list[int]:
    """Ids of the servers that were started."""
    return [int(line.split()[1]) for line in lines(notes) if "started" in line]


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def until_gone(process: int) -> None:
    while runs(process):
        await asyncio.sleep(0.001)


def test_a_process_is_started_by_the_first_use_and_ends_with_the_server(
    notes: Path,
) -> None:
    async def scenario() -> None:
        async with plain_process({"NOTES": str(notes)}) as server:
            assert lines(notes) == []
            await server.tools_now()
            (process,) = processes(notes)
            assert runs(process)
        assert not runs(process)
        assert lines(notes)[-1] == "ended"  # it was asked to, and not killed

    asyncio.run(scenario())


def test_a_process_of_the_portal_ends_with_the_server(notes: Path) -> None:
    with plain_process({"NOTES": str(notes)}) as server:
        server.tools_now().run()
        (process,) = processes(notes)
    assert not runs(process)


def test_a_process_ends_when_nobody_holds_its_server(notes: Path) -> None:
    async def scenario() -> None:
        await plain_process({"NOTES": str(notes)}).tools_now()
        (process,) = processes(notes)
        gc.collect()
        await until_gone(process)

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_process_ends_with_its_loop(notes: Path) -> None:
    server = plain_process({"NOTES": str(notes)})

    async def scenario() -> None:
        await server.tools_now()

    asyncio.run(scenario())
    (process,) = processes(notes)
    assert not runs(process)


def test_a_process_ends_with_the_program(notes: Path) -> None:
    program = (
        "from tests.integrations.mcp_servers import plain_process\n"
        f"plain_process({{'NOTES': {str(notes)!r}}}).tools_now().run()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    (process,) = processes(notes)
    assert not runs(process)


def test_a_server_that_dies_fails_its_call_and_the_next_use_starts_another(
    notes: Path,
) -> None:
    async def scenario() -> None:
        async with busy_process({"NOTES": str(notes)}) as server:
            tools = await server.tools_now()
            done = await answer_of(server, "die", tools=tools)
            assert done.failure == "environment"
            assert "'busy': the server ended it" in done.message.text
            again = await answer_of(server, "add", tools=tools, a=1, b=2)
            assert again.value == {"result": 3}
        first, second = processes(notes)
        assert first != second
        assert not runs(first)
        assert not runs(second)

    asyncio.run(scenario())


def test_a_server_that_dies_ends_the_stream_of_its_tools() -> None:
    async def scenario() -> None:
        async with busy_process() as server:
            changes = aiter(server.tools())
            await answer_of(server, "die", tools=await anext(changes))
            with pytest.raises(ToolFailedError, match="the server ended it") as lost:
                await anext(changes)
            assert lost.value.kind == "environment"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("command", "args", "why"),
    [
        ("no-such-program", (), "No such file"),
        (sys.executable, ("-c", "raise SystemExit(2)"), "ended it|Connection closed"),
    ],
    ids=["no program", "ends at once"],
)
def test_a_server_that_cannot_start_says_so(
    command: str, args: tuple[str, ...], why: str
) -> None:
    async def scenario() -> None:
        env = {"TOKEN": "secret-1"}
        async with McpServer.stdio(command, args, env=env, name="s") as server:
            with pytest.raises(ToolFailedError, match=why) as failed:
                await server.tools_now()
            assert failed.value.kind == "environment"
            assert "secret" not in str(failed.value)

    asyncio.run(scenario())


def test_a_process_sees_the_variables_that_it_is_given_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOT_FOR_YOU", "secret")

    async def scenario() -> None:
        async with busy_process({"FOR_YOU": "a gift"}) as server:
            given = await answer_of(server, "environment", name="FOR_YOU")
            assert given.message.text == "a gift"
            hidden = await answer_of(server, "environment", name="NOT_FOR_YOU")
            assert hidden.message.text == "nothing"

    asyncio.run(scenario())


class TestOlderProtocol:
    def test_all_pages_of_tools_are_read(self) -> None:
        async def scenario() -> None:
            async with plain_process() as server:
                tools = [each.name for each in await server.tools_now()]
            assert tools[:5] == ["echo", "grow", "ask", "open", "sample"]
            assert len(tools) == 9

        asyncio.run(scenario())

    def test_a_list_without_end_is_given_up(self) -> None:
        async def scenario() -> None:
            async with plain_process({"LIST": "endless"}) as server:
                with pytest.raises(ToolFailedError, match="more than 100 pages"):
                    await server.tools_now()

        asyncio.run(scenario())

    def test_two_names_that_are_one_to_a_model_are_an_error(self) -> None:
        async def scenario() -> None:
            async with plain_process({"LIST": "twins"}) as server:
                with pytest.raises(ConfigurationError, match=r"'a\.b' and 'a b'"):
                    await server.tools_now()

        asyncio.run(scenario())

    def test_a_server_without_tools_has_none(self) -> None:
        async def scenario() -> None:
            async with plain_process({"LIST": "none"}) as server:
                assert await server.tools_now() == ()

        asyncio.run(scenario())

    def test_a_list_is_read_anew_each_time(self, notes: Path) -> None:
        async def scenario() -> None:
            async with plain_process({"NOTES": str(notes)}) as server:
                for _ in range(3):
                    await server.tools_now()
            assert sum('"tools/list"' in line for line in lines(notes)) == 9  # pages

        asyncio.run(scenario())

    def test_the_tools_come_anew_when_the_server_changes_them(self) -> None:
        async def scenario() -> None:
            async with plain_process() as server:
                counts: list[int] = []
                async for tools in server.tools():
                    counts.append(len(tools))
                    if len(counts) == 2:
                        break
                    await answer_of(server, "grow", name="moss")
                assert counts == [9, 10]

        asyncio.run(asyncio.wait_for(scenario(), 30))

    def test_disposing_a_call_tells_the_server(self, notes: Path) -> None:
        async def scenario() -> None:
            async with plain_process({"NOTES": str(notes)}) as server:
                hanging = asyncio.ensure_future(events_of(server, "hang"))
                while not any('"hang"' in line for line in lines(notes)):
                    await asyncio.sleep(0.001)
                hanging.cancel()
                while "notifications/cancelled" not in lines(notes)[-1]:
                    await asyncio.sleep(0.001)
                calls = [json.loads(line) for line in lines(notes)[1:]]
                called = next(c for c in calls if c["method"] == "tools/call")
                assert calls[-1]["params"]["requestId"] == called["id"]

        asyncio.run(asyncio.wait_for(scenario(), 30))

    @pytest.mark.parametrize(
        ("tool", "answer", "result"),
        [
            ("ask", {"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
            ("ask", None, {"action": "decline"}),
            ("open", {}, {"action": "accept"}),
            ("open", None, {"action": "decline"}),
        ],
    )
    def test_the_user_answers_a_form_or_opens_a_page(
        self, tool: str, answer: dict[str, object] | None, result: object
    ) -> None:
        asked: list[McpQuestion] = []

        def ask(question: McpQuestion) -> Any:
            asked.append(question)
            return rx.of(answer)

        async def scenario() -> None:
            async with plain_process(on_question=ask) as server:
                done = await answer_of(server, tool)
            assert json.loads(done.message.text) == result
            (question,) = asked
            assert question.url == ("https://pay.example/1" if tool == "open" else None)
            assert (question.schema is None) == (tool == "open")

        asyncio.run(scenario())

    @pytest.mark.parametrize("answer", ["text", {"name": {"deep": 1}}])
    def test_an_answer_of_the_wrong_shape_is_not_sent(
        self, answer: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scenario() -> None:
            options: Any = {"on_question": lambda _: rx.of(answer)}
            async with plain_process(**options) as server:
                done = await answer_of(server, "ask")
            assert done.message.text == '"the user cannot be asked"'

        asyncio.run(scenario())
        assert "the user cannot be asked" in caplog.text

    def test_a_model_answers_what_the_server_samples(self) -> None:
        model = ScriptedModel("four")

        async def scenario() -> None:
            async with plain_process(sampling=model) as server:
                done = await answer_of(server, "sample")
            assert json.loads(done.message.text) == {
                "role": "assistant",
                "content": {"type": "text", "text": "four"},
                "model": "scripted",
                "stopReason": "endTurn",
            }

        asyncio.run(scenario())
        (request,) = model.requests
        assert [(m.role, m.text) for m in request.messages] == [
            ("user", "2 + 2?"),
            ("assistant", "Hm."),
        ]

    @pytest.mark.parametrize("model", [ScriptedModel(OSError("secret")), None])
    def test_a_model_that_does_not_answer_is_an_error_of_the_server(
        self, model: ScriptedModel | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        kind = "tool_result" if model is None else "text"  # what no model can be asked

        async def scenario() -> None:
            sampling = model or ScriptedModel("four")
            async with plain_process(sampling=sampling) as server:
                done = await answer_of(server, "sample", type=kind)
            assert done.message.text == '"the model did not answer"'

        asyncio.run(scenario())
        assert "the model did not answer" in caplog.text

    @pytest.mark.parametrize(
        ("tool", "kind", "said"),
        [
            ("locked", "environment", "open https://host/consent first"),
            ("broken", "transient", "out of memory"),
            ("junk", "semantic", "answered with something that is no result"),
        ],
    )
    def test_an_error_is_of_the_kind_that_says_who_can_do_better(
        self, tool: str, kind: str, said: str
    ) -> None:
        async def scenario() -> None:
            async with plain_process() as server:
                done = await answer_of(server, tool)
            assert done.failure == kind
            assert said in done.message.text

        asyncio.run(scenario())

    def test_a_schema_of_an_older_draft_is_left_to_the_server(self) -> None:
        async def scenario() -> None:
            async with plain_process() as server:
                done = await answer_of(server, "echo", pair=["a"])
            assert json.loads(done.message.text) == {"pair": ["a"]}

        asyncio.run(scenario())
