from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.history import load_messages
from tests.servers import (
    Answer,
    ChatServer,
    called,
    cut_off,
    error,
    html,
    never,
    streamed,
)

TOOLS = '''
from collections.abc import Iterator
from rxagent import tool

@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"12 °C in {city}"

@tool
def count(to: int) -> Iterator[int]:
    """Count."""
    yield from range(1, to + 1)

@tool
def broken() -> str:
    """Fail."""
    raise OSError("the sensor is off")

def plain() -> str:
    return "no tool"
'''


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> str:
    """A module of tools in the current directory; returns its name."""
    name = f"house_{request.node.name.split('[')[0]}"
    (tmp_path / f"{name}.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def stdin_of(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data))


def ask(server: ChatServer, *arguments: str) -> int:
    model = ("--model", "openai:test-model", "--base-url", server.base_url)
    return main(["ask", *model, *arguments])


def prompt_of(server: ChatServer) -> object:
    messages = server.asked[0].body["messages"]
    assert isinstance(messages, list)
    last: object = messages[-1]["content"]
    return last


def test_the_text_goes_to_stdout_and_ends_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(streamed("Hel", "lo")) as server:
        assert ask(server, "hi") == 0
    assert capsys.readouterr() == ("Hello\n", "")


def test_a_text_that_ends_its_own_line_gets_no_second_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(streamed("Hello\n")) as server:
        ask(server, "hi")
    assert capsys.readouterr().out == "Hello\n"


def test_options_reach_the_server() -> None:
    with ChatServer(streamed("ok")) as server:
        options = ("--temperature", "0.5", "--max-tokens", "7", "--system", "be brief")
        ask(server, "hi", *options)
        body = server.asked[0].body
    assert (body["model"], body["temperature"]) == ("test-model", 0.5)
    assert 7 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]


@pytest.mark.parametrize("arguments", [(), ("-",)], ids=["piped", "dash"])
def test_the_prompt_may_come_from_stdin(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin_of("\ufeffwhy so blüe?\n".encode()))
    with ChatServer(streamed("ok")) as server:
        assert ask(server, *arguments) == 0
        assert prompt_of(server) == "why so blüe?\n"


def test_a_prompt_that_is_given_leaves_stdin_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stdin = stdin_of(b"something else")
    monkeypatch.setattr(sys, "stdin", stdin)
    with ChatServer(streamed("ok")) as server:
        ask(server, "hi")
        assert prompt_of(server) == "hi"
    assert stdin.read() == "something else"


def test_no_prompt_on_a_terminal_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard, screen = os.openpty()
    with open(screen) as terminal, open(keyboard, "rb"):
        monkeypatch.setattr(sys, "stdin", terminal)
        assert main(["ask", "--model", "openai:m", "--base-url", "http://[::1]"]) == 2
    assert "no prompt" in capsys.readouterr().err


def test_no_prompt_and_a_closed_stdin_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["ask", "-"]) == 2
    assert "no prompt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "says"), [(b"\xff\xfe", "not UTF-8"), (b" \n", "prompt is empty")]
)
def test_a_prompt_that_says_nothing_is_wrong_usage(
    data: bytes,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin_of(data))
    with ChatServer(streamed("never asked")) as server:
        assert ask(server) == 2
        assert server.asked == []
    assert says in capsys.readouterr().err


def test_an_argument_that_is_no_text_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ask", os.fsdecode(b"\xff")]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_a_tool_runs_and_is_told_on_stderr(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (called("weather", text="I look.", city="Oslo"), streamed("It is cold."))
    with ChatServer(*script) as server:
        assert ask(server, "--tools", f"{here}:weather", "hi") == 0
        assert "12 °C in Oslo" in str(server.asked[1].body["messages"])
    out, err = capsys.readouterr()
    assert out == "I look.\nIt is cold.\n"
    assert err.splitlines() == [
        "(that was interim text; tools run now)",
        '-> weather {"city": "Oslo"}',
        "<- weather: 12 °C in Oslo",
    ]


def test_progress_of_a_tool_is_a_line_each(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(called("count", to=2), streamed("two")) as server:
        ask(server, "--tools", here, "hi")
    assert capsys.readouterr().err.splitlines() == [
        '-> count {"to": 2}',
        ".. count: 1",
        ".. count: 2",
        "<- count: 2",
    ]


def test_a_tool_that_fails_is_told_and_the_model_goes_on(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(called("broken"), streamed("It broke.")) as server:
        assert ask(server, "--tools", f"{here}:broken", "hi") == 0
    out, err = capsys.readouterr()
    assert out == "It broke.\n"
    assert "<- broken failed: " in err
    assert "the sensor is off" in err


def test_a_module_gives_all_its_tools_in_their_order(here: str) -> None:
    with ChatServer(streamed("ok")) as server:
        # The one that is named twice comes once.
        ask(server, "--tools", here, "--tools", f"{here}:count", "hi")
        tools = server.asked[0].body["tools"]
    assert isinstance(tools, list)
    assert [each["function"]["name"] for each in tools] == [
        "weather",
        "count",
        "broken",
    ]


def test_json_is_one_event_a_line_and_holds_the_whole_history(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(called("weather", city="Oslo"), streamed("Co", "ld")) as server:
        assert ask(server, "--json", "--tools", f"{here}:weather", "hi") == 0
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [event["type"] for event in events] == [
        *["ToolCallDelta"] * 3,
        "RoundFinished",
        "ToolStarted",
        "ToolFinished",
        "TextDelta",
        "TextDelta",
        "Finished",
    ]
    assert {event["origin"]["run_id"] for event in events} == {
        events[0]["origin"]["run_id"]
    }
    assert [event["origin"]["round"] for event in events] == [0] * 6 + [1] * 3
    transcript = load_messages(json.dumps(events[-1]["response"]["transcript"]))
    assert [message.text for message in transcript] == ["", "12 °C in Oslo", "Cold"]


def test_a_cut_answer_says_so_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(streamed("To be cont", finish_reason="length")) as server:
        assert ask(server, "hi") == 0
    out, err = capsys.readouterr()
    assert out == "To be cont\n"
    assert "--max-tokens" in err


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(error(401, "Incorrect API key"), "key", id="401"),
        pytest.param(
            error(404, "no such model", code="model_not_found"), "check the", id="404"
        ),
        pytest.param(html(400, "<html><h1>Bad Request</h1></html>"), "400", id="400"),
        pytest.param(cut_off("Hel"), "lost", id="cut"),
    ],
)
def test_a_failure_of_the_model_is_one_line_and_code_1(
    answer: Answer, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(answer) as server:
        assert ask(server, "hi") == 1
    err = capsys.readouterr().err
    assert err.startswith("rxagent: ")
    assert says in err
    assert err.count("\n") == 1


def test_a_failure_that_may_pass_is_told_and_the_model_asked_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    busy = error(503, "busy", headers={"retry-after": "0"})
    with ChatServer(busy, busy, streamed("ok")) as server:
        assert ask(server, "hi") == 0
        assert len(server.asked) == 3
    out, err = capsys.readouterr()
    assert out == "ok\n"
    told = err.splitlines()
    assert len(told) == 2
    assert told[0].startswith("asking again in 0 s: ")
    assert "503 Service Unavailable: busy" in told[0]


def test_what_came_before_a_failure_is_a_whole_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(cut_off("Hel")) as server:
        ask(server, "hi")
    assert capsys.readouterr().out == "Hel\n"


def test_a_server_that_is_not_there_is_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(never()) as server:
        gone = server.base_url
    assert main(["ask", "--model", "openai:m", "--base-url", gone, "hi"]) == 1
    assert "is base_url right" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--model", "gpt"], "there are: ", id="kind"),
        pytest.param(["--model", "openai:"], "write openai:NAME", id="no-name"),
        pytest.param(["--model", "openai:gpt"], "OPENAI_API_KEY", id="no-key"),
        pytest.param(
            ["--model", "openai:m", "--base-url", "localhost"], "base_url", id="url"
        ),
        pytest.param(
            ["--model", "local", "--base-url", "http://x"], "a base URL", id="local-url"
        ),
    ],
)
def test_a_model_that_cannot_be_made_is_wrong_usage(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", *arguments, "hi"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "name", "says"),
    [
        pytest.param("", "nowhere_to_be_found", "there is no module", id="no-module"),
        pytest.param("", "{m}:weather", "has no 'weather'", id="no-name"),
        pytest.param("", "{m}", "has no tools", id="no-tools"),
        pytest.param("def plain(): ...", "{m}:plain", "@rxagent.tool", id="no-tool"),
        pytest.param("1 / 0", "{m}", "ZeroDivisionError", id="raises"),
        pytest.param("import nope", "{m}", "No module named 'nope'", id="imports"),
        pytest.param(
            "from rxagent import tool\n@tool\ndef f(*words: str): ...",
            "{m}",
            "'*words'",
            id="signature",
        ),
        pytest.param(
            "from rxagent import tool\n"
            "@tool(name='f')\ndef f(): ...\n@tool(name='f')\ndef g(): ...",
            "{m}",
            "two tools are named 'f'",
            id="two-of-one-name",
        ),
    ],
)
def test_tools_that_cannot_be_used_are_wrong_usage(
    source: str,
    name: str,
    says: str,
    here: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = f"bad_{request.node.callspec.id.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(source)
    with ChatServer(streamed("never asked")) as server:
        assert ask(server, "--tools", name.format(m=module), "hi") == 2
        assert server.asked == []
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["ask", "hi", "--max-tokens", "0"], ["ask", "hi", "--nope"], ["answer"]],
    ids=["no-command", "no-tokens", "no-option", "no-such-command"],
)
def test_wrong_arguments_are_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2


def test_help_lists_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["ask", "--help"]):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
        out = capsys.readouterr().out
        assert all(f"\n  {code} " in out for code in (0, 1, 2, 130))
