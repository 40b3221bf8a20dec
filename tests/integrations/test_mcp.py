"""MCP servers as sources of tools, over the SDK's server in this process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

import pytest
import reactivex as rx
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer
from reactivex import Observable
from reactivex import operators as ops

from rxagent import Agent
from rxagent.advisors import tool_loop, tool_search
from rxagent.decisions import Approve
from rxagent.errors import ConfigurationError, ToolFailedError
from rxagent.events import ToolFinished
from rxagent.integrations.mcp import (
    McpProgress,
    McpQuestion,
    McpServer,
    mcp_tools,
)
from rxagent.messages import Audio, File, Image, Text
from rxagent.requests import ChatRequest
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolRules, tool
from tests.integrations.busy_server import PIXEL, WAVE, busy_server
from tests.integrations.mcp_servers import (
    answer_of,
    busy_process,
    events_of,
    in_memory,
    progress_in,
)


def names(tools: tuple[Any, ...]) -> list[str]:
    return [each.name for each in tools]


async def left_behind() -> set[asyncio.Task[Any]]:
    """Tasks besides this one, once what is about to end has ended."""
    here = {asyncio.current_task()}
    for _ in range(1_000):
        await asyncio.sleep(0)
        if asyncio.all_tasks() == here:
            break
    return {each for each in asyncio.all_tasks() if each not in here}


def test_making_a_server_connects_to_nothing() -> None:
    def never() -> Any:
        raise AssertionError

    server = McpServer(never, name="s")
    server.tools()
    server.tools_now()
    server.close()


def test_a_tool_has_the_description_and_the_schema_of_its_server() -> None:
    with in_memory(busy_server()) as server:
        tools = server.tools_now().run()
    add = next(each for each in tools if each.name == "add")
    assert add.description == "Add two numbers."
    properties: Any = add.parameters["properties"]
    assert properties["a"] == {"description": "One.", "title": "A", "type": "integer"}


def test_the_result_is_the_structured_content_and_the_model_sees_the_text() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "add", a=1, b=2)
        assert done.value == {"result": 3}
        assert done.message.text == "3"
        assert done.failure is None

    asyncio.run(scenario())


def test_without_structured_content_the_result_is_the_text() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "greet", name="Ada")
        assert done.value == done.message.text == "Hello Ada"

    asyncio.run(scenario())


def test_pictures_sounds_and_resources_are_parts_of_the_message() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "show")
        assert done.message.content == (
            Text(text="look"),
            Image(data=PIXEL, media_type="image/png"),
            Audio(data=WAVE, media_type="audio/wav"),
            Text(text="written"),
            File(data=b"%PDF", media_type="application/pdf", name="a.pdf"),
            Image(data=b"GIF", media_type="image/gif"),
            Text(text="b <https://host/b>: the other one"),
        )
        assert done.value == done.message.content

    asyncio.run(scenario())


def test_media_that_cannot_be_read_fail_the_call() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "blur")
        assert done.failure == "semantic"
        assert "cannot be read" in done.message.text

    asyncio.run(scenario())


def test_a_tool_that_fails_is_for_the_model_to_see() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "fail")
        assert done.failure == "semantic"
        assert "there is no more cheese" in done.message.text

    asyncio.run(scenario())


def test_arguments_are_checked_before_they_travel() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            done = await answer_of(server, "add", a="one", b=2)
        assert done.attempts == 0
        assert "a: 'one' is not of type 'integer'" in done.message.text

    asyncio.run(scenario())


def test_a_tool_that_is_gone_fails_and_the_session_goes_on() -> None:
    async def scenario() -> None:
        inner = busy_server()
        async with in_memory(inner) as server:
            tools = await server.tools_now()
            inner.remove_tool("greet")
            done = await answer_of(server, "greet", tools=tools, name="Ada")
            assert done.failure == "semantic"
            assert "greet" in done.message.text
            assert (await answer_of(server, "add", a=1, b=1)).failure is None

    asyncio.run(scenario())


def test_progress_comes_while_the_tool_runs() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            events = await events_of(server, "count", to=3)
        assert progress_in(events) == [
            McpProgress(done=n, total=3, message=f"step {n}") for n in (1, 2, 3)
        ]

    asyncio.run(scenario())


def test_disposing_a_call_cancels_it_at_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))

    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            hanging = asyncio.ensure_future(events_of(server, "hang"))
            while not notes.exists():
                await asyncio.sleep(0)
            hanging.cancel()
            while "cancelled" not in notes.read_text():
                await asyncio.sleep(0)
            assert (await answer_of(server, "add", a=1, b=2)).failure is None

    asyncio.run(scenario())


def test_a_call_takes_no_longer_than_the_rules_allow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))

    async def scenario() -> None:
        rules = ToolRules(timeout_s=0.05)
        async with in_memory(busy_server(), rules=rules) as server:
            done = await answer_of(server, "hang")
            assert done.failure == "transient"
            assert "no result after 0.05 s" in done.message.text
            while "cancelled" not in notes.read_text():
                await asyncio.sleep(0)

    asyncio.run(scenario())


def test_the_tools_come_anew_when_the_server_changes_them() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            seen: list[tuple[Any, ...]] = []
            async for tools in server.tools():
                seen.append(tools)
                if len(seen) == 2:
                    break
                await answer_of(server, "grow", name="moss")
            before, after = seen
            assert names(after) == [*names(before), "moss"]
            assert (await answer_of(server, "moss")).value == "moss"

    asyncio.run(scenario())


def test_a_list_is_kept_until_the_server_changes_it() -> None:
    listed: list[None] = []

    async def count(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "tools/list":
            listed.append(None)
        return await call_next(ctx)

    async def scenario() -> None:
        inner = busy_server()
        inner.middleware.append(count)
        async with in_memory(inner) as server:
            tools = await server.tools_now()
            assert await server.tools_now() != ()
            assert len(listed) == 1
            await answer_of(server, "grow", tools=tools, name="moss")
            while len(await server.tools_now()) == len(tools):
                await asyncio.sleep(0)
            assert len(listed) == 2

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_stream_of_tools_completes_when_the_server_is_closed_from_here() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            async for _ in server.tools():
                await server.aclose()

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_what_a_server_lists_anew_but_unchanged_is_no_news() -> None:
    async def scenario() -> None:
        async with in_memory(busy_server()) as server:
            counted = 0
            async for _ in server.tools():
                counted += 1
                await answer_of(server, "grow", name="greet")  # is there already
                await answer_of(server, "grow", name="greet")
                if counted == 1:
                    await answer_of(server, "grow", name="moss")
                else:
                    break
            assert counted == 2

    asyncio.run(scenario())


class TestNames:
    def test_a_prefix_goes_before_the_names(self) -> None:
        async def scenario() -> None:
            async with in_memory(busy_server(), prefix="busy_") as server:
                assert (await answer_of(server, "busy_add", a=1, b=2)).value == {
                    "result": 3
                }

        asyncio.run(scenario())

    def test_names_are_such_that_every_provider_takes_them(self) -> None:
        async def scenario() -> None:
            inner: MCPServer[Any] = MCPServer("odd", log_level="CRITICAL")
            long = "x" * 100
            for name in ("files.read", long + "1", long + "2"):
                inner.add_tool(lambda: "ok", name=name)
            async with in_memory(inner) as server:
                dotted, one, two = names(await server.tools_now())
                assert dotted == "files_read"
                assert one != two
                assert len(one) == len(two) == 64
                assert (await answer_of(server, one)).message.text == "ok"

        asyncio.run(scenario())

    def test_two_tools_that_would_have_one_name_are_an_error_that_names_both(
        self,
    ) -> None:
        async def scenario() -> None:
            inner: MCPServer[Any] = MCPServer("odd", log_level="CRITICAL")
            for name in ("a.b", "a/b"):
                inner.add_tool(lambda: "ok", name=name)
            async with in_memory(inner) as server:
                with pytest.raises(ConfigurationError, match=r"'a\.b' and 'a/b'"):
                    await server.tools_now()

        asyncio.run(scenario())


class TestQuestions:
    @pytest.mark.parametrize(
        ("answers", "expected"),
        [
            (rx.of({"name": "Ada"}, {"name": "late"}), "Ada"),
            (rx.of(None), "decline"),
            (rx.empty(), "cancel"),
        ],
        ids=["a form", "no", "nothing"],
    )
    def test_the_user_answers_by_an_observable(
        self, answers: Observable[Mapping[str, object] | None], expected: str
    ) -> None:
        asked: list[McpQuestion] = []

        def ask(question: McpQuestion) -> Observable[Mapping[str, object] | None]:
            asked.append(question)
            return answers

        async def scenario() -> None:
            async with in_memory(busy_server(), on_question=ask) as server:
                done = await answer_of(server, "who")
            assert done.message.text == expected
            (question,) = asked
            assert (question.server, question.message) == (
                "memory",
                "What is your name?",
            )
            assert question.schema is not None
            assert question.schema["required"] == ["name"]

        asyncio.run(scenario())

    def test_whoever_leaves_the_call_leaves_the_question(self) -> None:
        async def scenario() -> None:
            asked, left = asyncio.Event(), asyncio.Event()

            def ask(_: McpQuestion) -> Observable[Mapping[str, object] | None]:
                asked.set()
                return rx.never().pipe(ops.finally_action(left.set))

            async with in_memory(busy_server(), on_question=ask) as server:
                waiting = asyncio.ensure_future(events_of(server, "who"))
                await asked.wait()
                waiting.cancel()
                await left.wait()

        asyncio.run(asyncio.wait_for(scenario(), 30))

    def test_an_answer_that_fails_fails_the_call_and_is_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scenario() -> None:
            options: Any = {"on_question": lambda _: rx.throw(OSError("secret"))}
            async with in_memory(busy_server(), **options) as server:
                done = await answer_of(server, "who")
            assert done.failure is not None
            assert "the user cannot be asked" in done.message.text
            assert "secret" not in done.message.text

        asyncio.run(scenario())
        assert "secret" in caplog.text

    def test_without_anybody_to_ask_the_call_fails(self) -> None:
        async def scenario() -> None:
            async with in_memory(busy_server()) as server:
                assert (await answer_of(server, "who")).failure is not None

        asyncio.run(scenario())

    def test_a_model_answers_what_the_server_samples(self) -> None:
        model = ScriptedModel("four")

        async def scenario() -> None:
            async with in_memory(busy_server(), sampling=model) as server:
                done = await answer_of(server, "think")
            assert done.message.text == "scripted says four"

        asyncio.run(scenario())
        (request,) = model.requests
        assert [m.text for m in request.messages] == ["Be brief.", "2 + 2?"]
        assert request.options.max_tokens == 7


class TestAdvisor:
    def test_an_agent_calls_the_tools_of_a_server(self) -> None:
        model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "3")
        with in_memory(busy_server()) as server:
            agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
            assert agent.call("1 + 2?").run().text == "3"
        assert model.requests[1].messages[-1].text == "3"

    def test_each_round_offers_what_there_is_by_then(self) -> None:
        def offered(request: ChatRequest) -> Reply:
            assert "moss" in names(request.tools)
            return Reply(calls=(tool_call("moss"),))

        model = ScriptedModel(
            Reply(calls=(tool_call("grow", name="moss"),)), offered, "grown"
        )
        with in_memory(busy_server()) as server:
            agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
            response = agent.call("grow").run()
        assert response.text == "grown"
        assert "moss" not in names(model.requests[0].tools)

    def test_left_of_the_loop_a_turn_keeps_what_it_began_with(self) -> None:
        model = ScriptedModel(Reply(calls=(tool_call("grow", name="moss"),)), "ok")
        with in_memory(busy_server()) as server:
            agent = Agent(model, advisors=[mcp_tools(server), tool_loop()])
            agent.call("grow").run()
        assert names(model.requests[0].tools) == names(model.requests[1].tools)

    def test_only_some_tools_are_offered_if_so_wished(self) -> None:
        model = ScriptedModel("ok")
        with in_memory(busy_server()) as server:
            some = mcp_tools(server, where=lambda each: each.name in {"add", "die"})
            Agent(model, advisors=[tool_loop(), some]).call("hi").run()
        assert names(model.requests[0].tools) == ["add", "die"]

    def test_a_name_that_is_taken_is_an_error_with_advice(self) -> None:
        @tool
        def add(a: int) -> int:
            """Add."""
            return a

        with in_memory(busy_server()) as server:
            agent = Agent(
                ScriptedModel("ok"),
                tools=[add],
                advisors=[tool_loop(), mcp_tools(server)],
            )
            with pytest.raises(ConfigurationError, match=r"'add'.*prefix"):
                agent.call("hi").run()

    def test_a_turn_pauses_for_a_person_if_the_server_is_gone(self) -> None:
        model = ScriptedModel(Reply(calls=(tool_call("die"),)))
        with busy_process() as server:
            loop = tool_loop(on_environment="pause")
            agent = Agent(model, advisors=[loop, mcp_tools(server)])
            response = agent.call("die").run()
        assert response.finish_reason == "paused"
        assert response.snapshot is not None
        assert response.snapshot.reason == "environment"

    def test_a_paused_turn_knows_the_tools_of_a_server_that_is_right_of_the_loop(
        self,
    ) -> None:
        model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "ok")
        with in_memory(busy_server()) as server:
            loop = tool_loop(needs_approval=True)
            agent = Agent(model, advisors=[loop, mcp_tools(server)])
            paused = agent.call("add").run()
            assert paused.snapshot is not None
            decisions = {call_id: Approve() for call_id in paused.snapshot.pending}
            list(agent.resume(paused.snapshot, decisions))
        assert model.requests[1].messages[-1].text == "3"

    def test_the_tools_of_a_server_are_found_by_search(self) -> None:
        model = ScriptedModel(
            Reply(calls=(tool_call("tool_search", query="add numbers"),)),
            Reply(calls=(tool_call("add", a=1, b=2),)),
            "ok",
        )
        with in_memory(busy_server()) as server:
            agent = Agent(
                model,
                advisors=[tool_loop(), mcp_tools(server), tool_search(limit=1)],
            )
            agent.call("add").run()
        assert names(model.requests[0].tools) == ["tool_search"]
        assert names(model.requests[1].tools) == ["tool_search", "add"]
        assert model.requests[2].messages[-1].text == "3"

    def test_disposing_the_turn_cancels_the_call(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        notes = tmp_path / "notes"
        monkeypatch.setenv("NOTES", str(notes))
        model = ScriptedModel(Reply(calls=(tool_call("hang"),)))

        async def scenario() -> None:
            async with in_memory(busy_server()) as server:
                agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
                async for _ in agent.stream("hang").pipe(
                    ops.filter(lambda _: notes.exists())
                ):
                    break
                while "cancelled" not in notes.read_text():
                    await asyncio.sleep(0)

        asyncio.run(scenario())

    def test_turns_that_run_at_once_do_not_mix(self) -> None:
        def again(request: ChatRequest) -> str | Reply:
            *_, last = request.messages
            if last.role == "tool":
                return last.text
            n = int(last.text)
            return Reply(calls=(tool_call("add", a=n, b=n),))

        async def scenario() -> None:
            async with in_memory(busy_server()) as server:
                model = ScriptedModel(again, repeat_last=True)
                agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
                answers = await asyncio.gather(
                    *(asyncio.ensure_future(text_of(agent, n)) for n in range(50))
                )
            assert answers == [str(2 * n) for n in range(50)]

        async def text_of(agent: Agent, n: int) -> str:
            return (await agent.call(str(n))).text

        asyncio.run(scenario())

    def test_an_error_of_the_model_is_the_error_of_the_turn(self) -> None:
        with in_memory(busy_server()) as server:
            model = ScriptedModel(OSError("no"))
            agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
            with pytest.raises(OSError, match="no"):
                agent.call("hi").run()

    def test_a_server_that_cannot_be_reached_is_the_error_of_the_turn(self) -> None:
        server = McpServer.stdio("no-such-program")
        agent = Agent(ScriptedModel(), advisors=[tool_loop(), mcp_tools(server)])
        with pytest.raises(ToolFailedError, match="no-such-program"):
            agent.call("hi").run()

    def test_it_says_its_name_and_its_server(self) -> None:
        server = in_memory(busy_server())
        assert repr(mcp_tools(server)) == "mcp_tools('memory')"


class TestSessions:
    def test_one_session_serves_all_calls_of_a_loop(self) -> None:
        opened: list[None] = []
        inner = busy_server()

        def transport() -> Any:
            opened.append(None)
            return InMemoryTransport(inner)

        async def scenario() -> None:
            async with McpServer(transport, name="s") as server:
                calls = (answer_of(server, "add", a=n, b=n) for n in range(20))
                done = await asyncio.gather(*calls)
                assert [each.value for each in done] == [
                    {"result": 2 * n} for n in range(20)
                ]

        asyncio.run(scenario())
        assert len(opened) == 1

    def test_each_event_loop_has_a_session_of_its_own(self) -> None:
        server = in_memory(busy_server())

        async def scenario() -> ToolFinished:
            return await answer_of(server, "add", a=1, b=2)

        assert asyncio.run(scenario()).value == {"result": 3}
        assert asyncio.run(scenario()).value == {"result": 3}
        with server:
            assert "add" in names(server.tools_now().run())

    def test_async_with_leaves_no_task(self) -> None:
        async def scenario() -> None:
            async with in_memory(busy_server()) as server:
                await server.tools_now()
                assert await left_behind() != set()
            assert await left_behind() == set()

        asyncio.run(scenario())

    def test_with_on_a_running_loop_does_not_wait_for_it(self) -> None:
        async def scenario() -> None:
            with in_memory(busy_server()) as server:
                await server.tools_now()
            assert await left_behind() == set()

        asyncio.run(scenario())

    def test_async_with_closes_the_sessions_of_other_loops_too(self) -> None:
        async def scenario() -> None:
            async with in_memory(busy_server()) as server:
                await asyncio.to_thread(server.tools_now().run)
            assert [*server._connections] == []

        asyncio.run(scenario())

    def test_a_closed_server_opens_again(self) -> None:
        async def scenario() -> None:
            server = in_memory(busy_server())
            for _ in range(2):
                assert "add" in names(await server.tools_now())
                await server.aclose()

        asyncio.run(scenario())

    def test_a_server_that_nobody_holds_closes_its_session(self) -> None:
        async def scenario() -> None:
            server = in_memory(busy_server())
            await server.tools_now()
            assert await left_behind() != set()
            del server
            gc.collect()
            assert await left_behind() == set()

        asyncio.run(scenario())

    def test_a_server_stays_open_while_somebody_holds_a_tool_of_it(self) -> None:
        async def scenario() -> None:
            tools = await in_memory(busy_server()).tools_now()
            gc.collect()
            assert await left_behind() != set()
            assert len(tools) > 1

        asyncio.run(scenario())

    def test_a_loop_that_ends_takes_its_session_with_it(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = in_memory(busy_server())

        async def scenario() -> None:
            await server.tools_now()

        asyncio.run(scenario())
        gc.collect()
        assert caplog.records == []

    def test_a_server_that_does_not_answer_is_given_up(self) -> None:
        class Silent:
            async def __aenter__(self) -> Any:
                await asyncio.Event().wait()

            async def __aexit__(self, *_: object) -> None: ...

        async def scenario() -> None:
            options: Any = {"connect_timeout_s": 0.05}
            async with McpServer(lambda: Silent(), name="mute", **options) as server:
                with pytest.raises(ToolFailedError, match="connect_timeout_s") as no:
                    await server.tools_now()
                assert no.value.kind == "environment"

        asyncio.run(scenario())

    @pytest.mark.parametrize("seconds", [0, -1, True])
    def test_a_time_that_makes_no_sense_is_refused(self, seconds: float) -> None:
        with pytest.raises(ConfigurationError, match="connect_timeout_s"):
            in_memory(busy_server(), connect_timeout_s=seconds)


def test_a_server_is_shown_by_its_name_alone() -> None:
    env = {"TOKEN": "secret-1"}
    server = McpServer.stdio("run", ["--key", "secret-2"], env=env)
    assert repr(server) == "McpServer('run')"
    url = "https://me:secret-3@host/mcp?key=secret-4"
    assert repr(McpServer.http(url, headers={"x": "secret-5"})) == "McpServer('host')"


@pytest.mark.parametrize("url", ["me:key@host", "ftp://me:key@host", "http://", "key"])
def test_what_is_no_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must look like") as refused:
        McpServer.http(url)
    assert "key" not in str(refused.value)


def test_arguments_in_one_text_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="list of texts"):
        McpServer.stdio("run", "--all")
