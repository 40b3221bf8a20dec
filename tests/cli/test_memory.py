from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.runtime import run
from rxagent.testing._hard_to_keep import EVERY_KIND

HELLO = (UserMessage.of("hello"), AssistantMessage.of("hi"))


def keep(path: Path, **conversations: tuple[Message, ...]) -> str:
    with SqliteStore(path) as store:
        for name, messages in conversations.items():
            run(store.append(name, messages))
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return keep(tmp_path / "a.db", b=HELLO, a=EVERY_KIND)


def test_list_prints_a_line_for_each_conversation(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "list", "--memory", file]) == 0

    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f"{len(EVERY_KIND)} messages  a")
    assert second.endswith("2 messages  b")


def test_show_prints_who_said_what(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a message says is indented, so that no text looks like another speaker."""
    assert main(["memory", "show", "b", "--memory", file]) == 0
    assert capsys.readouterr() == ("user: hello\nassistant: hi\n", "")

    assert main(["memory", "show", "a", "--memory", file]) == 0
    assert capsys.readouterr().out == (
        "system: Be brief.\n"
        "  \tQuote 'this' and \"that\" and \\ that. \\x00 \n"
        "user (pinned): Grüezi \U0001f468\u200d\U0001f469\n"
        "user: See, hear and read:\n"
        "  [image/png, 256000 bytes]\n"
        "  [image/png, https://host/a.png]\n"
        "  [audio/wav, 3 bytes]\n"
        "  [application/pdf, 0 bytes]\n"
        "assistant: [thoughts]\n"
        "  I look it up.\n"
        "  [something of gemini]\n"
        '  -> weather {"city": "Zürich"}\n'
        '  -> cut {"a":\n'
        "tool weather: 12 °C\n"
        "  [image/png, 4 bytes]\n"
        "tool weather failed: no such tool\n"
        "assistant (interrupted): I cannot.\n"
        "assistant (summary):\n"
        "user:\n"
    )


def test_what_is_exported_is_ascii_and_can_be_imported(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "export", "--memory", file]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert [json.loads(line)["id"] for line in printed.splitlines()] == ["a", "b"]
    lines = tmp_path / "lines.jsonl"
    lines.write_text(printed)

    other = str(tmp_path / "other.db")
    assert main(["memory", "import", "--memory", other, str(lines)]) == 0

    assert capsys.readouterr().err.splitlines()[1].endswith("2 messages  b")
    with SqliteStore(other) as store:
        assert run(store.load("a")).messages == EVERY_KIND
        assert run(store.load("b")).messages == HELLO


def test_an_imported_file_is_readable_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    line = b'{"id": "a", "messages": []}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))

    assert main(["memory", "import", "--memory", str(path)]) == 0

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_import_replaces_only_what_it_is_told_to(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "b", "messages": []}\n')
    command = ["memory", "import", "--memory", file, str(lines)]

    assert main(command) == 1
    assert "'b' is there already; --overwrite" in capsys.readouterr().err
    with SqliteStore(file) as store:
        assert run(store.load("b")).messages == HELLO

    assert main([*command, "--overwrite"]) == 0
    with SqliteStore(file) as store:
        assert run(store.load("b")).messages == ()


def test_delete_forgets(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "delete", "a", "b", "--memory", file]) == 0
    assert capsys.readouterr() == ("", "deleted a\ndeleted b\n")
    assert main(["memory", "list", "--memory", file]) == 0
    assert capsys.readouterr().out == ""
    assert b"hello" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())


@pytest.mark.parametrize("action", ["show", "delete"])
def test_a_conversation_that_is_not_there_is_a_failure(
    action: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", action, "c", "--memory", file]) == 1
    assert "'c' is not there; `rxagent memory list`" in capsys.readouterr().err


def test_what_is_there_is_deleted_though_something_else_is_not(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "delete", "c", "a", "d", "--memory", file]) == 1
    deleted, missing = capsys.readouterr().err.splitlines()
    assert deleted == "deleted a"
    assert "'c, d' is not there" in missing


def test_names_steer_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a\x1b[2J\nb"
    file = keep(tmp_path / "a.db", **{name: (UserMessage.of("\x9b2J"),)})

    for command in (["list"], ["show", name], ["export"], ["delete", name]):
        assert main(["memory", *command, "--memory", file]) == 0
        said = capsys.readouterr()
        assert not {"\x1b", "\x9b"} & {*said.out, *said.err}


@pytest.mark.parametrize("action", ["list", "export"])
def test_a_file_that_is_not_there_is_not_made(
    action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "a.db")
    assert main(["memory", action, "--memory", file]) == 2
    assert f"cannot open --memory {file}: the file is not" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        (b'{"id": "a", "mess', 1, "line 1: "),
        (b'{"id": "\xff"}', 1, "line 1: "),
        (None, 2, "cannot read"),
    ],
    ids=["cut off", "no UTF-8", "no file"],
)
def test_lines_that_cannot_be_imported_are_an_error(
    lines: bytes | None,
    code: int,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "lines.jsonl"
    if lines is not None:
        path.write_bytes(lines)
    command = ["memory", "import", "--memory", str(tmp_path / "a.db"), str(path)]

    assert main(command) == code
    assert says in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "folder" / "a.db")
    assert main(["memory", "import", "--memory", file, "-"]) == 2
    assert "its folder is not there" in capsys.readouterr().err
