"""Tools that another process can find, since a module shows them."""

from __future__ import annotations

import asyncio
import contextvars
import operator
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field

from rxagent.context import Key
from rxagent.errors import ToolError, ToolFailedError
from rxagent.messages import File, Image, Text
from rxagent.tools import ToolContext, tool

USER = Key("user", str)
SEEN = Key("seen", list, reduce=operator.add)
NOTE = Key("note", str)

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


class Place(BaseModel):
    city: str
    days: int = Field(default=1, ge=1)


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool
def place(where: Place) -> str:
    return f"{where.city} for {where.days}"


@tool
def who(seen: ToolContext) -> str:
    return f"{seen.context[USER]} asks {seen.call.name} in {seen.origin.path[0]}"


@tool
def note(text: str, seen: ToolContext) -> str:
    before = str(seen.context.get(NOTE))
    seen.set(NOTE, text)
    return before


@tool
def note_and_fail(text: str, seen: ToolContext) -> str:
    seen.set(NOTE, text)
    raise ValueError(f"no {text}")


@tool
def fold(text: str, seen: ToolContext) -> None:
    seen.set(SEEN, [text])


@tool
def variable() -> str:
    return user.get()


@tool
def picture() -> list[object]:
    return [Text(text="look"), Image(data=b"\x89PNG", media_type="image/png")]


@tool
def attachment() -> File:
    return File(data=b"%PDF", media_type="application/pdf", name="a.pdf")


@tool
def huge() -> str:
    return "x" * 200_000


@tool
def lazy() -> Iterator[int]:
    return map(abs, [-1, -2])


@tool
def fail(text: str) -> str:
    raise ValueError(text)


@tool
def fail_kindly() -> str:
    raise ToolFailedError("no key", kind="environment")


@tool(retries=1, retry_delay_s=0.001)
def fail_again() -> str:
    raise ConnectionError("gone")


@tool
def fatal() -> str:
    raise ToolError("fatal", "must not be seen")


@tool
def leave() -> str:
    raise SystemExit(3)


class DemandingError(Exception):
    """It can be pickled, and not unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


@tool
def fail_demandingly() -> str:
    raise DemandingError("4: odd")


@tool
def lock() -> object:
    return threading.Lock()


class Stubborn:
    """It can be pickled, and not unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


@tool
def stubborn() -> object:
    return Stubborn()


@tool
def key_with_a_lambda(seen: ToolContext) -> str:
    seen.set(Key("sum", int, reduce=lambda one, other: one + other), 1)
    return "done"


@tool
def pid() -> int:
    return os.getpid()


@tool
def kill() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@tool
def mark(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


@tool(serial=True)
def alone(path: str, text: str) -> None:
    mark(path, text)


@tool
def meet(folder: str, who: str, others: int) -> str:
    """Wait until so many others are there too."""
    (Path(folder) / who).touch()
    while len([*Path(folder).iterdir()]) <= others:
        threading.Event().wait(0.001)
    return who


@tool(timeout_s=0.05)
def wait_for(path: str) -> str:
    while not Path(path).exists():
        threading.Event().wait(0.01)
    return "never heard"


@tool(timeout_s=0.05)
async def wait_on() -> str:
    await asyncio.Event().wait()
    return "never"


@tool
def report(seen: ToolContext) -> str:
    for at in range(3):
        seen.report(at)
    return "reported"


@tool
def steps(seen: ToolContext) -> Iterator[str]:
    yield "a"
    seen.set(NOTE, "stepped")
    yield "b"


@tool
async def later(text: str, seen: ToolContext) -> str:
    seen.set(NOTE, text)
    return f"{text} of {user.get()}"
