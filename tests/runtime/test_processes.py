"""Every place where a stream may run, as a program of its own over real HTTP.

No program may leave a task, a thread or a connection behind, hang at its end, or say
a word on stderr.
"""

from __future__ import annotations

import signal

import pytest

from tests.runtime.child import ends_well, running
from tests.runtime.upstream import SECONDS, Upstream

ANSWER = "xx"


def test_a_script() -> None:
    program = """
say(answering.call("hi").run().text)
say(answering.call("hi").run().text)
say(*answering.stream("hi").text())
for event in hanging.stream("hi"):
    break
say_what_is_left()
"""
    with Upstream(items=2, then="end") as ends, Upstream() as hangs:
        said = ends_well(program, ends.base_url, hangs.base_url)
        hangs.left.get(timeout=SECONDS)
    assert said == [ANSWER, ANSWER, "x x", "left: rxagent-portal"]


def test_coroutines_need_no_thread_and_run_works_in_a_loop_as_in_a_notebook() -> None:
    program = """
async def main():
    say((await answering.call("hi")).text)
    say(*[text async for text in answering.stream("hi").text()])
    async for event in hanging.stream("hi"):
        break
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)

for _ in range(2):
    asyncio.run(main())
    say_what_is_left()

async def cell():
    say(answering.call("hi").run().text)
    say((await answering.call("hi")).text)
    say(*answering.stream("hi").text())

asyncio.run(cell())
say_what_is_left()
"""
    with Upstream(items=2, then="end") as ends, Upstream() as hangs:
        said = ends_well(program, ends.base_url, hangs.base_url)
        for _ in range(2):
            hangs.left.get(timeout=SECONDS)
    twice, cell = said[:6], said[6:]
    assert twice == [ANSWER, "x x", "left:"] * 2
    assert cell == [ANSWER, ANSWER, "x x", "left: rxagent-portal"]


def test_many_threads_with_and_without_a_loop() -> None:
    program = """
async def awaited():
    return await answering.call("hi")

said = []
def runs():
    said.append(answering.call("hi").run().text)
def awaits():
    said.append(asyncio.run(awaited()).text)

threads = [threading.Thread(target=each) for each in (runs, awaits) * 4]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
say(*said)

came = threading.Event()
subscription = hanging.stream("hi").subscribe(lambda _: came.set())
came.wait()
leaver = threading.Thread(target=subscription.dispose)
leaver.start()
leaver.join()
say_what_is_left()
"""
    with Upstream(items=2, then="end") as ends, Upstream() as hangs:
        said = ends_well(program, ends.base_url, hangs.base_url)
        hangs.left.get(timeout=SECONDS)
    assert said == [" ".join([ANSWER] * 8), "left: rxagent-portal"]


def test_after_a_fork() -> None:
    """The portal's thread stays with the parent, and perhaps somebody held its lock."""
    program = """
import warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # Python 3.12

came = threading.Event()
subscription = hanging.stream("hi").subscribe(lambda _: came.set())
came.wait()
say(answering.call("hi").run().text)
with _portal.Portal._lock:
    child = os.fork()
if child == 0:
    say("child", answering.call("hi").run().text)
    sys.exit(0)
say("status", os.waitpid(child, 0)[1])
say(answering.call("hi").run().text)
subscription.dispose()
say_what_is_left()
"""
    with Upstream(items=2, then="end") as ends, Upstream() as hangs:
        said = ends_well(program, ends.base_url, hangs.base_url)
        hangs.left.get(timeout=SECONDS)
    assert said == [
        ANSWER,
        f"child {ANSWER}",
        "status 0",
        ANSWER,
        "left: rxagent-portal",
    ]


def test_another_scheduler_observes_as_a_gui_does() -> None:
    program = """
gui = EventLoopScheduler()
threads, texts, done = set(), [], threading.Event()

def show(text):
    threads.add(threading.current_thread().name)
    texts.append(text)

def name_the_thread(*_):
    threading.current_thread().name = "gui"
gui.schedule(name_the_thread)
observed = ops.observe_on(gui)
answering.stream("hi").text().pipe(observed).subscribe(show, say, done.set)
done.wait()
say(*texts, *threads)

events, subscription, left = [], [], threading.Event()
def leave(*_):
    subscription[0].dispose()
    events.append("left")
    left.set()
def see(event):
    if not events:
        gui.schedule(leave)
    events.append("event")
subscription.append(hanging.stream("hi").pipe(observed).subscribe(see, say))
left.wait()
say(events[0], events[-1])
gui.dispose()
for each in threading.enumerate():
    if each.name == "gui":
        each.join()
say_what_is_left()
"""
    with Upstream(items=2, then="end") as ends, Upstream(items=50) as hangs:
        said = ends_well(program, ends.base_url, hangs.base_url)
        hangs.left.get(timeout=SECONDS)
    assert said == ["x x gui", "event left", "left: rxagent-portal"]


def test_ctrl_c_leaves_the_stream_and_the_program_goes_on() -> None:
    program = """
def run():
    hanging.call("hi").run()
def iterate():
    for event in hanging.stream("hi"):
        pass
def work_while_iterating():
    for event in hanging.stream("hi"):
        threading.Event().wait()

for reading in run, iterate, work_while_iterating:
    try:
        reading()
    except KeyboardInterrupt:
        say("interrupted", reading.__name__)
    sys.stdin.readline()
say_what_is_left()
"""
    with Upstream() as hangs, running(program, hangs.base_url) as child:
        assert child.stdin is not None
        for _ in range(3):
            hangs.asked.get(timeout=SECONDS)
            child.send_signal(signal.SIGINT)
            hangs.left.get(timeout=SECONDS)  # and the program still runs
            child.stdin.write("go on\n")
            child.stdin.flush()
        out, err = child.communicate(timeout=SECONDS)
    assert (child.returncode, err) == (0, "")
    assert out.splitlines() == [
        "interrupted run",
        "interrupted iterate",
        "interrupted work_while_iterating",
        "left: rxagent-portal",
    ]


@pytest.mark.parametrize(
    "reading",
    ['hanging.call("hi").run()', 'for event in hanging.stream("hi"): pass'],
    ids=["run", "for"],
)
def test_ctrl_c_ends_a_program_that_does_not_catch_it(reading: str) -> None:
    with Upstream() as hangs, running(reading, hangs.base_url) as child:
        hangs.asked.get(timeout=SECONDS)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=SECONDS)
        hangs.left.get(timeout=SECONDS)
    assert (child.returncode, out) == (-signal.SIGINT, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\nKeyboardInterrupt\n")
    assert err.count("Traceback") == 1


@pytest.mark.parametrize(
    "reading",
    ['hanging.call("hi").run()', 'for event in hanging.stream("hi"): pass'],
    ids=["run", "for"],
)
def test_ctrl_c_ends_a_coroutine_that_blocks_its_loop(reading: str) -> None:
    """The handler of ``asyncio.run`` cancels the task, which does not wait for it."""
    program = f"""
async def main():
    try:
        {reading}
    finally:
        say("left")

asyncio.run(main())
"""
    with Upstream() as hangs, running(program, hangs.base_url) as child:
        hangs.asked.get(timeout=SECONDS)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=SECONDS)
        hangs.left.get(timeout=SECONDS)
    assert (child.returncode, out) == (-signal.SIGINT, "left\n")
    assert err.endswith("\nKeyboardInterrupt\n")


def test_the_end_of_asyncio_run_is_no_failure_of_its_streams() -> None:
    program = """
async def main():
    came = asyncio.Event()
    hanging.stream("hi").subscribe(lambda _: came.set())
    await came.wait()

asyncio.run(main())
"""
    with Upstream() as hangs:
        assert ends_well(program, hangs.base_url) == []
        hangs.left.get(timeout=SECONDS)


def test_a_program_may_end_while_its_streams_run() -> None:
    """Sources are closed; nobody is told, since nobody is left."""
    program = """
async def endless():
    try:
        while True:
            yield 1
            await asyncio.sleep(0)
    finally:
        say("closed")

came = threading.Semaphore(0)
def note(_):
    came.release()
hanging.stream("hi").subscribe(note)
from_async_iterable(endless).pipe(ops.distinct_until_changed()).subscribe(note, say)
run = hanging.stream("hi").pipe(ops.do_action(note)).run
threading.Thread(target=run, daemon=True).start()
for _ in range(3):
    came.acquire()
half_read = iter(hanging.stream("hi"))
next(half_read)
"""
    with Upstream() as hangs:
        assert ends_well(program, hangs.base_url) == ["closed"]


def test_a_callback_that_blocks_for_good_does_not_keep_a_program_from_ending() -> None:
    program = """
came = threading.Event()
def block(_):
    came.set()
    threading.Event().wait()
hanging.stream("hi").subscribe(block)
came.wait()
"""
    with Upstream() as hangs, running(program, hangs.base_url) as child:
        _, err = child.communicate(timeout=SECONDS)
    assert child.returncode == 0
    assert err.startswith("streams were left open at exit: a callback blocks")
    assert err.count("\n") == 1
