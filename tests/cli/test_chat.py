from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.cli.interrupts import Interrupts
from tests.servers import (
    Answer,
    ChatServer,
    called,
    cut_off,
    error,
    never,
    streamed,
)

SECONDS = 30.0  # a bound for a stuck child, not a measure
TOOLS = '''
from rxagent import tool

@tool
def weather(city: str) -> str:
    """Get the weather
    of a city."""
    return f"12 °C in {city}"
'''


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "72")


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> str:
    """A module with a tool in the current directory; returns its name."""
    name = f"chat_{request.node.name}"
    (tmp_path / f"{name}.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


class Chatting:
    """The command with lines on its stdin, in this process."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(
        self, server: ChatServer, lines: bytes | str, *options: str, code: int = 0
    ) -> tuple[str, str]:
        """Return what it writes to stdout and to stderr."""
        data = lines.encode() if isinstance(lines, str) else lines
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        model = ("--model", "openai:test-model", "--base-url", server.base_url)
        assert main(["chat", *model, *options]) == code
        out, err = self._capsys.readouterr()
        return out, err


@pytest.fixture
def chat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Chatting:
    return Chatting(monkeypatch, capsys)


def said(server: ChatServer, request: int = -1) -> list[tuple[str, str]]:
    """Role and text of each message of a request."""
    messages = server.asked[request].body["messages"]
    assert isinstance(messages, list)
    return [(each["role"], each["content"] or "") for each in messages]


def test_each_line_is_a_turn_and_stdout_is_the_answers_alone(chat: Chatting) -> None:
    with ChatServer(streamed("Hel", "lo"), streamed("Bye\n")) as server:
        assert chat(server, "hi\nbye\n") == ("Hello\nBye\n", "")


def test_a_turn_brings_the_whole_conversation_along(chat: Chatting, here: str) -> None:
    script = (called("weather", city="Oslo"), streamed("Cold."), streamed("Yes."))
    with ChatServer(*script) as server:
        chat(server, "Oslo?\nsure?\n", "--tools", here, "--system", "be brief")
        assert said(server) == [
            ("system", "be brief"),
            ("user", "Oslo?"),
            ("assistant", ""),
            ("tool", "12 °C in Oslo"),
            ("assistant", "Cold."),
            ("user", "sure?"),
        ]


def test_reset_forgets_all_but_the_instructions(chat: Chatting) -> None:
    with ChatServer(streamed("ok")) as server:
        _, err = chat(server, "one\n/reset\ntwo\n", "--system", "be brief")
        assert said(server) == [("system", "be brief"), ("user", "two")]
    assert err == "(the conversation is forgotten)\n"


def test_a_conversation_that_is_kept_goes_on_in_the_next_chat(
    chat: Chatting, tmp_path: Path
) -> None:
    """A turn that failed is not in it, nor another conversation of the file."""
    options = ("--memory", str(tmp_path / "a.db"), "--conversation", "ann")
    with ChatServer(streamed("a")) as server:
        assert chat(server, "one\n", *options) == ("a\n", "")
    with ChatServer(error(400, "out of order")) as server:
        chat(server, "two\n", *options, code=1)
    with ChatServer(streamed("b")) as server:
        chat(server, "other\n", *options[:2])
        assert said(server) == [("user", "other")]

    with ChatServer(streamed("c")) as server:
        _, err = chat(server, "three\n", *options, "--system", "be brief")
        assert said(server) == [
            ("system", "be brief"),
            ("user", "one"),
            ("assistant", "a"),
            ("user", "three"),
        ]
    assert err == "(going on after 2 messages; /reset forgets them)\n"


def test_reset_deletes_a_conversation_that_is_kept(
    chat: Chatting, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    with ChatServer(streamed("ok")) as server:
        chat(server, "a secret\n/reset\n", "--memory", str(path))
    assert b"a secret" not in path.read_bytes()

    with ChatServer(streamed("ok")) as server:
        chat(server, "two\n", "--memory", str(path))
        assert said(server) == [("user", "two")]


def test_a_file_that_cannot_be_used_is_told_before_the_first_line(
    chat: Chatting, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    path.write_text("no database " * 99)
    with ChatServer() as server:
        out, err = chat(server, "hi\n", "--memory", str(path), code=1)
    assert (out, server.asked) == ("", [])
    assert "restore it from a copy" in err


@pytest.mark.parametrize(
    ("failure", "shown", "says"),
    [
        (error(400, "out of order"), "", "out of order"),
        (cut_off("Hel"), "Hel\n", "lost"),
    ],
    ids=["at-once", "cut"],
)
def test_a_turn_that_fails_is_one_sentence_and_leaves_no_trace_in_the_conversation(
    failure: Answer, shown: str, says: str, chat: Chatting
) -> None:
    script = (streamed("a"), failure, streamed("c"))
    with ChatServer(*script) as server:
        out, err = chat(server, "one\ntwo\nthree\n", code=1)
        assert said(server) == [("user", "one"), ("assistant", "a"), ("user", "three")]
    assert out == f"a\n{shown}c\n"
    assert err.startswith("rxagent: ")
    assert says in err
    assert err.count("\n") == 1


def test_tools_are_listed_each_on_a_line(chat: Chatting, here: str) -> None:
    with ChatServer(streamed("never asked")) as server:
        _, err = chat(server, "/tools\n", "--tools", here)
        assert server.asked == []
    assert err == "weather: Get the weather of a city.\n"


def test_no_tools_are_told_with_how_to_give_some(chat: Chatting) -> None:
    with ChatServer(streamed("never asked")) as server:
        _, err = chat(server, "/tools\n")
    assert "--tools MODULE[:NAME]" in err


def test_trace_draws_each_turn_after_it_until_it_is_stopped(
    chat: Chatting, here: str
) -> None:
    script = (streamed("a"), called("weather", city="Oslo"), streamed("b", "c"))
    with ChatServer(*script, streamed("d")) as server:
        lines = "one\n/trace\ntwo\n/trace\nthree\n"
        out, err = chat(server, lines, "--tools", here)
    assert out == "a\nbc\nd\n"
    assert err.splitlines() == [
        "(trace is on)",
        '-> weather {"city": "Oslo"}',
        "<- weather: 12 °C in Oslo",
        "turn 2: 2 rounds, 1 tool run",
        "  agent   --c3--R--------t2--(F,|)",
        "  weather          s--f",
        "  t text; c tool call being written; R round ends, tools run; s tool",
        "    starts; f tool ends; F finished; a number counts them",
        "  ended: stop, by test-model",
        "  usage: 18 prompt tokens, 6 output tokens, 2 requests",
        "(trace is off)",
    ]


def test_trace_draws_a_turn_that_fails_up_to_there(chat: Chatting) -> None:
    with ChatServer(cut_off("Hel", "lo")) as server:
        _, err = chat(server, "/trace\nhi\n", code=1)
    assert err.splitlines()[2:4] == [
        "turn 1: 1 round, 0 tool runs",
        "  agent --t2--#",
    ]


def test_help_says_what_there_is(chat: Chatting) -> None:
    with ChatServer(streamed("never asked")) as server:
        out, err = chat(server, "/help\n")
    assert out == ""
    for each in ("/help", "/reset", "/tools", "/trace", "Ctrl-C", "Ctrl-D"):
        assert f"\n{each} " in f"\n{err}"


@pytest.mark.parametrize("line", ["/x", "/", "/reset now", f"/{'x' * 1000}"])
def test_a_command_that_is_not_there_is_answered_with_those_that_are(
    line: str, chat: Chatting
) -> None:
    with ChatServer(streamed("ok")) as server:
        _, err = chat(server, f"one\n{line}\ntwo\n")
        assert [text for _, text in said(server)] == ["one", "ok", "two"]
    assert err.startswith("there is no '/")
    assert "there are: /help, /reset, /tools, /trace" in err
    assert len(err) < 150


def test_a_space_before_a_slash_sends_the_line_to_the_model(chat: Chatting) -> None:
    with ChatServer(streamed("ok")) as server:
        chat(server, " /usr is what?\n")
        assert said(server) == [("user", "/usr is what?")]


def test_lines_may_end_in_any_way_and_empty_ones_are_passed_over(
    chat: Chatting,
) -> None:
    with ChatServer(streamed("ok")) as server:
        chat(server, "\ufeffone\r\n\n   \ntwö".encode())
        asked = [said(server, number)[-1] for number in range(len(server.asked))]
    assert asked == [("user", "one"), ("user", "twö")]


def test_a_line_that_is_no_text_is_told_and_the_next_one_is_asked(
    chat: Chatting,
) -> None:
    with ChatServer(streamed("ok")) as server:
        out, err = chat(server, b"\xff\xfe\nhi\n")
    assert (out, err) == ("ok\n", "rxagent: this line is not UTF-8 text\n")


def test_a_closed_stdin_is_an_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["chat", "--model", "openai:m", "--base-url", "http://[::1]"]) == 0
    assert capsys.readouterr() == ("", "")


def test_options_reach_the_server(chat: Chatting) -> None:
    with ChatServer(streamed("ok")) as server:
        chat(server, "hi\n", "--temperature", "0.5", "--max-tokens", "7")
        body = server.asked[0].body
    assert (body["model"], body["temperature"]) == ("test-model", 0.5)
    assert 7 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "gpt"], "'gpt' names no provider"),
        (["--model", "openai:gpt"], "OPENAI_API_KEY"),
        (["--tools", "nowhere_to_be_found"], "there is no module"),
        (["--memory", "no-folder/a.db"], "its folder is not there"),
        (["--conversation", "ann"], "needs --memory FILE"),
        (["--memory", "a.db", "--conversation", " "], "must not be blank"),
        (["--memory", "a.db", "--conversation", ""], "must not be blank"),
    ],
    ids=["model", "key", "tools", "memory", "conversation", "blank", "empty"],
)
def test_what_is_put_together_wrongly_is_told_before_the_first_line(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"hi\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["chat", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert stdin.read() == "hi\n"


def test_ctrl_c_cancels_the_answer_to_a_piped_line_and_the_next_one_is_asked() -> None:
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from rxagent.cli import main\n"
        "sys.exit(main())"
    )
    with ChatServer(never("Hel"), streamed("Bye")) as server:
        options = ["--model", "openai:m", "--base-url", server.base_url]
        with subprocess.Popen(
            [sys.executable, "-c", program, "chat", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            try:
                assert child.stdin is not None
                assert child.stdout is not None
                child.stdin.write(b"hi\n")
                child.stdin.flush()
                assert child.stdout.read(3) == b"Hel"
                for _ in range(10):  # for why, see PseudoTerminal.press_until_shown
                    child.send_signal(signal.SIGINT)
                    if server.hung_up.wait(3.0):
                        break
                child.stdin.write(b"bye\n")
                child.stdin.flush()
                out, err = child.communicate(timeout=SECONDS)
            finally:
                child.kill()
    assert (child.returncode, out, err) == (0, b"\nBye\n", b"(cancelled)\n")


@pytest.fixture
def handler() -> Iterator[None]:
    """Whatever a test does to Ctrl-C, the next one finds it as it was."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class PressingCtrlC(io.RawIOBase):
    """A pipe that brings nothing until somebody presses Ctrl-C."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0


@pytest.mark.usefixtures("handler")
def test_ctrl_c_ends_the_wait_for_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = io.BufferedReader(PressingCtrlC())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
    assert main(["chat", "--model", "openai:m", "--base-url", "http://[::1]"]) == 130
    assert capsys.readouterr().err == "rxagent: interrupted\n"


@pytest.mark.usefixtures("handler")
def test_ctrl_c_raises_once_in_a_block_that_expects_it_and_never_elsewhere() -> None:
    seen: list[str] = []
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        for number in range(2):
            try:
                with interrupts.expected():
                    signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)
                seen.append(f"interrupt {number}")
        with interrupts.expected():
            seen.append("none")
        signal.raise_signal(signal.SIGINT)
    assert seen == ["interrupt 0", "interrupt 1", "none"]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


@pytest.mark.usefixtures("handler")
def test_ctrl_c_is_afterwards_as_it_was_if_nobody_pressed_it() -> None:
    with Interrupts() as interrupts, interrupts.expected():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("handler")
def test_a_program_that_was_started_without_ctrl_c_stays_without() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts() as interrupts, interrupts.expected():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
