from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, ToolMessage, UserMessage
from rxagent.runtime import run
from tests.memory import killed_writer

KILLS = 100


def test_no_half_turn_is_read_after_a_writer_was_killed(tmp_path: Path) -> None:
    """A hundred times in the same file, which each new writer goes on with."""
    path, chance, told = tmp_path / "a.db", random.Random(3), 0
    with (
        SqliteStore(path) as store,
        subprocess.Popen(
            [sys.executable, killed_writer.__file__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as writer,
    ):
        assert writer.stdin is not None
        assert writer.stdout is not None
        for _ in range(KILLS):
            print(chance.randrange(3), file=writer.stdin, flush=True)
            told += int(writer.stdout.readline())
            found = run(store.load(killed_writer.CONVERSATION))

            assert len(found.messages) == killed_writer.TURN * found.version
            assert found.version >= told, "what was told is lost"
            told = found.version
            for start in range(0, len(found.messages), killed_writer.TURN):
                first, *rounds, last = found.messages[start:][: killed_writer.TURN]
                kinds = [type(message) for message in rounds]
                assert isinstance(first, UserMessage)
                assert kinds == [AssistantMessage, ToolMessage] * 5
                assert last.text == "done"
        writer.stdin.close()
