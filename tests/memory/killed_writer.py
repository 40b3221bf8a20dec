"""Writes turns in a child until it is killed, at a random point, once for each line.

Children are forked, so that the imports are paid once.  A line of the input is how many
turns the child may have told of when it is killed; a line of the output is how many it
has.
"""

from __future__ import annotations

import os
import random
import sys
from functools import partial

from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from rxagent.runtime import run
from tests.killing import told_until_killed

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


if __name__ == "__main__":
    chance = random.Random(7)
    for line in sys.stdin:
        work = partial(write_turns, sys.argv[1])
        told = told_until_killed(work, least=int(line) + 1, chance=chance)
        sys.stdout.write(f"{told - 1}\n")
        sys.stdout.flush()
