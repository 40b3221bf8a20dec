"""Programs in a process of their own, in development mode, with warnings as errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from tests.runtime.upstream import SECONDS

__all__ = ["ends_well", "running"]

PREAMBLE = """\
import asyncio, logging, os, signal, sys, threading
from functools import partial
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler
from rxagent import Agent
from rxagent.models import OpenAIChat
from rxagent.runtime import Flow, LoopScheduler, from_async_iterable, loop_for
from rxagent.runtime import _portal, _source

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent did
# How long a callback took is the machine's affair.
logging.getLogger("asyncio").addFilter(lambda record: "took" not in str(record.msg))
say = partial(print, flush=True)

def agent_of(url):
    return Agent(OpenAIChat(model="m", base_url=url, api_key="k"))

async def ended(task):
    await asyncio.wait([task])

def say_what_is_left():
    for task in tuple(_source._running):  # the parent's patience is the limit
        asyncio.run_coroutine_threadsafe(ended(task), task.get_loop()).result()
    threads = {each.name for each in threading.enumerate()} - {"MainThread"}
    say("left:", *sorted(threads))

answering, hanging = map(agent_of, sys.argv[1:])

"""


def _command(program: str, urls: tuple[str, str]) -> list[str]:
    options = ["-X", "dev", "-W", "error", "-c", PREAMBLE + program]
    return [sys.executable, *options, *urls]


def _environment() -> dict[str, str]:
    return {key: text for key, text in os.environ.items() if "OPENAI" not in key}


def ends_well(program: str, *urls: str) -> list[str]:
    """Run ``program`` and return the lines that it said.

    Args:
        program: Sees ``answering`` and ``hanging``, two agents, and ``say``.
        urls: Of the provider that answers, and of the one that hangs.
    """
    first, second = (*urls, *urls)[:2]
    done = subprocess.run(
        _command(program, (first, second)),
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@contextmanager
def running(program: str, url: str) -> Generator[subprocess.Popen[str]]:
    """Start ``program``; its ``hanging`` agent asks ``url``."""
    with subprocess.Popen(
        _command(program, (url, url)),
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()
