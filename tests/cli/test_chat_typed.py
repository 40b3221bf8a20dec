"""The chat on a terminal: what is typed, what is shown, and Ctrl-C and Ctrl-D."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.pseudo_terminal import SECONDS, PseudoTerminal
from tests.servers import ChatServer, called, never, streamed

CTRL_A, CTRL_C, CTRL_D, CTRL_F, UP = "\x01", "\x03", "\x04", "\x06", "\x1b[A"
WITHOUT_EDITOR = "sys.modules['readline'] = None"
LIBEDIT = "import readline; del readline.append_history_file"


def chatting(
    server: ChatServer, state: Path, *options: str, first: str = ""
) -> PseudoTerminal:
    model = ("--model", "openai:m", "--base-url", server.base_url)
    environment = {"XDG_STATE_HOME": str(state)}
    return PseudoTerminal(
        "chat", *model, *options, environment=environment, first=first
    )


def asked(server: ChatServer) -> list[str]:
    """The texts of the last request."""
    messages = server.asked[-1].body["messages"]
    assert isinstance(messages, list)
    return [each["content"] for each in messages]


def history(state: Path) -> list[str]:
    return (state / "rxagent" / "history").read_text().splitlines()


def test_a_prompt_is_shown_a_line_is_answered_and_ctrl_d_ends_it(
    tmp_path: Path,
) -> None:
    with ChatServer(streamed("Hello")) as server, chatting(server, tmp_path) as screen:
        assert screen.shown_until("> ") == (
            "/help lists the commands, Ctrl-D ends the chat\r\n> "
        )
        screen.press("hi\r")
        assert screen.shown_until("> ") == "hi\r\nHello\r\n> "
        screen.press(CTRL_D)
        assert screen.ended() == (0, "\r\n")


def test_a_line_can_be_edited(tmp_path: Path) -> None:
    with ChatServer(streamed("Hello")) as server, chatting(server, tmp_path) as screen:
        screen.shown_until("> ")
        screen.press(f"wy{CTRL_A}{CTRL_F}h\r")
        screen.shown_until("Hello")
        assert asked(server) == ["why"]


@pytest.mark.parametrize("first", ["", LIBEDIT], ids=["readline", "libedit"])
def test_what_was_typed_comes_back_also_in_the_next_session(
    first: str, tmp_path: Path
) -> None:
    with ChatServer(streamed("Hello")) as server:
        with chatting(server, tmp_path, first=first) as screen:
            screen.shown_until("> ")
            for line in ("one", "two", "two"):
                screen.press(f"{line}\r")
                screen.shown_until("Hello\r\n> ")
            screen.press(f"{UP}{UP}\r")  # once for both
            screen.shown_until("Hello\r\n> ")
            assert asked(server)[-1] == "one"
            screen.press(CTRL_D)
            screen.ended()
        assert history(tmp_path) == ["one", "two", "one"]
        with chatting(server, tmp_path, first=first) as screen:
            screen.shown_until("> ")
            screen.press(f"{UP}{UP}\r")
            screen.shown_until("Hello")
            assert asked(server) == ["two"]


@pytest.mark.parametrize("state", [{}, {"XDG_STATE_HOME": "here"}], ids=["no", "near"])
def test_the_history_is_at_home_if_no_absolute_place_is_named_and_nobody_elses(
    state: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with ChatServer(streamed("Hello")) as server:
        model = ("--model", "openai:m", "--base-url", server.base_url)
        environment = {"HOME": str(tmp_path), **state}
        with PseudoTerminal("chat", *model, environment=environment) as screen:
            screen.shown_until("> ")
            screen.press("hi\r")
            screen.shown_until("Hello")
    place = tmp_path / ".local" / "state"
    assert history(place) == ["hi"]
    for each in (place / "rxagent", place / "rxagent" / "history"):
        assert each.stat().st_mode & 0o077 == 0


def test_a_history_that_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with ChatServer(streamed("Hello")) as server, chatting(server, file) as screen:
        screen.shown_until("> ")
        screen.press("hi\r")
        assert screen.shown_until("> ") == "hi\r\nHello\r\n> "


def test_a_python_without_an_editor_still_chats(tmp_path: Path) -> None:
    with (
        ChatServer(streamed("Hello")) as server,
        chatting(server, tmp_path, first=WITHOUT_EDITOR) as screen,
    ):
        screen.shown_until("> ")
        screen.press("hi\r")
        assert screen.shown_until("> ") == "hi\r\nHello\r\n> "
        screen.press_until_shown(CTRL_C, "(Ctrl-D ends the chat)\r\n> ")
        screen.press(CTRL_D)
        assert screen.ended()[0] == 0


def test_ctrl_c_hangs_up_and_the_chat_goes_on_without_that_turn(
    tmp_path: Path,
) -> None:
    script = (streamed("Hello"), never("Hel"), streamed("Again"))
    with ChatServer(*script) as server, chatting(server, tmp_path) as screen:
        screen.shown_until("> ")
        screen.press("one\r")
        screen.shown_until("Hello\r\n> ")
        screen.press("two\r")
        screen.shown_until("Hel")
        shown = screen.press_until_shown(CTRL_C, "> ")
        assert shown.endswith("^C\r\n(cancelled)\r\n> ")
        assert server.hung_up.wait(SECONDS)
        screen.press("three\r")
        screen.shown_until("Again")
        assert asked(server) == ["one", "Hello", "three"]


def test_ctrl_c_cancels_before_anything_has_come(tmp_path: Path) -> None:
    with ChatServer(never()) as server, chatting(server, tmp_path) as screen:
        screen.shown_until("> ")
        screen.press("hi\r")
        assert server.was_asked.wait(SECONDS)
        screen.press_until_shown(CTRL_C, "(cancelled)\r\n> ")


def test_an_impatient_hand_on_ctrl_c_ends_only_the_answer(tmp_path: Path) -> None:
    with (
        ChatServer(never("Hel"), streamed("Again")) as server,
        chatting(server, tmp_path) as screen,
    ):
        screen.shown_until("> ")
        screen.press("hi\r")
        screen.shown_until("Hel")
        # What a terminal was to show before a Ctrl-C may be dropped, "(cancelled)" too.
        screen.press_until(server.hung_up, CTRL_C * 5)
        screen.press_until_shown("hi\r", "Again")


def test_ctrl_c_on_an_empty_line_says_how_to_leave(tmp_path: Path) -> None:
    with ChatServer(never()) as server, chatting(server, tmp_path) as screen:
        screen.shown_until("> ")
        for _ in range(2):
            shown = screen.press_until_shown(CTRL_C, "> ")
            assert shown == "\r\n(Ctrl-D ends the chat)\r\n> "


def test_ctrl_c_forgets_the_line_that_is_typed(tmp_path: Path) -> None:
    with ChatServer(streamed("Hello")) as server, chatting(server, tmp_path) as screen:
        screen.shown_until("> ")
        screen.press("never mind")
        screen.shown_until("never mind")
        assert screen.press_until_shown(CTRL_C, "> ") == "\r\n> "
        screen.press("hi\r")
        screen.shown_until("Hello")
        assert asked(server) == ["hi"]


def test_ctrl_c_waits_for_no_tool_nor_does_the_next_turn_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stuck.py").write_text(
        "import threading\n"
        "from rxagent import tool\n"
        "@tool\n"
        "def wait() -> None:\n"
        "    threading.Event().wait()\n"
    )
    monkeypatch.chdir(tmp_path)
    with (
        ChatServer(called("wait"), streamed("Hello")) as server,
        chatting(server, tmp_path, "--tools", "stuck") as screen,
    ):
        screen.shown_until("> ")
        screen.press("one\r")
        screen.shown_until("-> wait {}\r\n")
        screen.press_until_shown(CTRL_C, "(cancelled)")
        screen.shown_until("> ")  # somewhere before it stands that the tool goes on
        screen.press("two\r")
        screen.shown_until("Hello\r\n> ")
        assert asked(server) == ["two"]
        screen.press(CTRL_D)
        # The thread of the tool still runs, and keeps nobody from leaving.
        code, _ = screen.ended()
        assert code == 0


def test_no_prompt_is_written_into_a_file(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    with ChatServer(streamed("Hello")) as server, answers.open("wb") as file:
        model = ("--model", "openai:m", "--base-url", server.base_url)
        with PseudoTerminal("chat", *model, environment={}, stdout=file) as screen:
            screen.shown_until("Ctrl-D ends the chat\r\n")
            screen.press("hi\r")
            screen.press(CTRL_D)
            assert screen.ended() == (0, "hi\r\n")
    assert answers.read_text() == "Hello\n"
