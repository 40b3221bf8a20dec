"""Writes turns in a child until it is killed, at a random point, once for each line.

Children are forked, so that the imports are paid once.  A line of the input is how many
turns the child may have told of when it is killed; a line of the output is how many it
has.
"""

from __future__ import annotations

import os
import random
import signal
import sys

from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from rxagent.runtime import run

CONVERSATION = "the one"
TURN = 12
"""How many messages a turn has; enough for a kill to fall between two of them."""


def write_turns(path: str, told: int) -> None:
    store = SqliteStore(path)
    os.write(told, b".")
    while True:
        call = ToolCall(id="call", name="read")
        question = UserMessage.of("read all")
        round_ = (AssistantMessage.of(call), ToolMessage.of("x" * 9000, call=call))
        answer = AssistantMessage.of("done")
        run(store.append(CONVERSATION, [question, *round_ * 5, answer]))
        os.write(told, b".")


def write_until_killed(path: str, turns: int, chance: random.Random) -> int:
    told, telling = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_turns(path, telling)
        finally:
            os._exit(1)
    os.close(telling)
    seen = b"".join(os.read(told, 1) for _ in range(turns + 1))
    for _ in range(chance.randrange(200_000)):
        pass  # somewhere within the next turns
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(told, 100):
        seen += more
    os.close(told)
    return len(seen) - 1


if __name__ == "__main__":
    chance = random.Random(7)
    for line in sys.stdin:
        told = write_until_killed(sys.argv[1], int(line), chance)
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()
