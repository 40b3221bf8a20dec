"""A process that writes to a store: ``python -m tests.integrations.store_writer``.

Its words: the store, where it is, the conversation, and the names of the turns.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rxagent.integrations.redis import RedisStore
from rxagent.integrations.sql import SqlStore
from rxagent.memory import ConversationStore
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.runtime import run

__all__ = ["STORES", "in_processes", "write"]

STORES: Mapping[str, Callable[[str], ConversationStore]] = {
    "redis": RedisStore,
    "sql": SqlStore,
}


def write(store: ConversationStore, conversation: str, name: str) -> int:
    turn: list[Message] = [UserMessage.of(f"{name}?"), AssistantMessage.of(f"{name}.")]
    return run(store.append(conversation, turn))


def in_processes(
    kind: str, url: str, conversation: str, names: Iterable[Iterable[str]]
) -> None:
    """Write turns from as many processes as there are lists of names, at once."""
    command = [sys.executable, "-m", "tests.integrations.store_writer"]
    processes = [
        subprocess.Popen(
            [*command, kind, url, conversation, *each],
            cwd=Path(__file__).parents[2],
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in names
    ]
    for process in processes:
        _, said = process.communicate()
        assert process.returncode == 0, said


if __name__ == "__main__":
    kind, url, conversation, *names = sys.argv[1:]
    opened = STORES[kind](url)
    for each in names:
        write(opened, conversation, each)
