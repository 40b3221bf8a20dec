from __future__ import annotations

import random
from pathlib import Path

from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, ToolMessage, UserMessage
from rxagent.runtime import run
from tests.killing import answering
from tests.memory import killed_writer

KILLS = 100


def test_no_half_turn_is_read_after_a_writer_was_killed(tmp_path: Path) -> None:
    """A hundred times in the same file, which each new writer goes on with."""
    path, chance, told = tmp_path / "a.db", random.Random(3), 0
    with (
        SqliteStore(path) as store,
        answering(killed_writer, path) as told_after,
    ):
        for _ in range(KILLS):
            told += told_after(chance.randrange(3))
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
