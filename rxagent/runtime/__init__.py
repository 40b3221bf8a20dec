"""Where streams run, how asyncio code becomes a stream, and how to read one.

The loop of a stream is the one of an explicit loop scheduler; else, if no scheduler was
given, the running loop; else one background loop, the portal.
"""

from rxagent.runtime._block import block, run
from rxagent.runtime._daemon_threads import DaemonThreads
from rxagent.runtime._flow import Flow
from rxagent.runtime._from_thread import from_thread
from rxagent.runtime._iterate import Overflow, iterate
from rxagent.runtime._loop import call_on
from rxagent.runtime._loop_end import LoopEnd
from rxagent.runtime._per_loop import PerLoop
from rxagent.runtime._portal import loop_for
from rxagent.runtime._scheduler import LoopScheduler
from rxagent.runtime._source import Sink, from_async_iterable, from_producer
from rxagent.runtime._stack import with_room

__all__ = [
    "DaemonThreads",
    "Flow",
    "LoopEnd",
    "LoopScheduler",
    "Overflow",
    "PerLoop",
    "Sink",
    "block",
    "call_on",
    "from_async_iterable",
    "from_producer",
    "from_thread",
    "iterate",
    "loop_for",
    "run",
    "with_room",
]
