"""What every model does that answers over HTTP: it retries, and it has clocks."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

import pytest
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler

from rxagent import Agent
from rxagent.chain import before
from rxagent.errors import (
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitError,
)
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Flow
from rxagent.types import Advisor
from tests.servers import ChatServer, cut_off, error, never, streamed, whole

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))
BUSY = error(503, "busy", headers={"retry-after": "0"})


def model_of(
    server: ChatServer,
    *,
    timeouts: Timeouts = Timeouts(),
    retry: RetryPolicy = RetryPolicy(base_s=0.01),
) -> OpenAIChat:
    return OpenAIChat(
        model="m",
        base_url=server.base_url,
        api_key="k",
        timeouts=timeouts,
        retry=retry,
    )


def flow_of(model: OpenAIChat, request: ChatRequest = REQUEST) -> Flow[ChatEvent]:
    return Flow[ChatEvent].of(just(request).pipe(model))


def failure_of(model: OpenAIChat) -> ModelError:
    with pytest.raises(ModelError) as at:
        flow_of(model).run()
    return at.value


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_an_error_that_may_pass_is_no_error(stream: bool) -> None:
    """M-45, M-48."""
    request = replace(REQUEST, options=ChatOptions(stream=stream))
    good = streamed("Hel", "lo") if stream else whole("Hello")
    with ChatServer(BUSY, BUSY, good) as server:
        end = flow_of(model_of(server), request).run()

    assert isinstance(end, Finished)
    assert end.response.text == "Hello"
    assert len(server.asked) == 3
    assert server.asked[0] == server.asked[2]


def test_the_same_attempts_are_made_on_a_loop_and_off_it() -> None:
    """M-50."""

    def attempts(read: Callable[[Flow[ChatEvent]], object]) -> tuple[int, float]:
        delays: list[float] = []
        policy = RetryPolicy(on_retry=lambda _, delay_s: delays.append(delay_s))
        with ChatServer(BUSY) as server:
            with pytest.raises(OverloadedError):
                read(flow_of(model_of(server, retry=policy)))
            return len(server.asked), sum(delays)

    async def wait_for(flow: Flow[ChatEvent]) -> None:
        await flow

    assert attempts(Flow.run) == (3, 0)
    assert attempts(list) == (3, 0)
    assert attempts(lambda flow: asyncio.run(wait_for(flow))) == (3, 0)


def test_the_chain_sees_one_request_however_often_it_is_sent() -> None:
    """M-46: a memory up there stores one question."""
    seen: list[ChatRequest] = []

    def note(request: ChatRequest) -> ChatRequest:
        seen.append(request)
        return request

    advisors: list[Advisor] = [before(note)]
    with ChatServer(BUSY, streamed("ok")) as server:
        response = Agent(model_of(server), advisors=advisors).call("hi").run()

    assert response.text == "ok"
    assert len(seen) == 1
    assert len(server.asked) == 2


def test_once_text_is_out_nothing_is_sent_again() -> None:
    """M-47."""
    with ChatServer(cut_off("Hel"), streamed("Hello")) as server:
        events: list[ChatEvent] = []
        with pytest.raises(ModelError) as at:
            events.extend(flow_of(model_of(server)))

    assert events == [TextDelta(text="Hel")]
    assert at.value.delivered
    assert at.value.attempts == 1
    assert len(server.asked) == 1


@pytest.mark.parametrize("then", ["end", "cut", "hang"])
def test_an_error_keeps_the_text_that_came_before_it(
    then: Literal["end", "cut", "hang"],
) -> None:
    """Whether the stream ends too early, the connection does, or nothing comes."""
    with ChatServer(replace(cut_off("Hel", "lo"), then=then)) as server:
        failure = failure_of(model_of(server, timeouts=Timeouts(gap_s=0.5)))

    assert failure.text == "Hello"


@pytest.mark.parametrize("then", ["hang", "cut"])
def test_an_answer_that_is_complete_needs_no_end_of_its_body(
    then: Literal["hang", "cut"],
) -> None:
    with ChatServer(replace(streamed("Hel", "lo"), then=then)) as server:
        end = flow_of(model_of(server, timeouts=Timeouts(turn_s=20))).run()

    assert isinstance(end, Finished)
    assert end.response.text == "Hello"


def test_the_last_error_says_how_often_was_asked() -> None:
    """M-49."""
    with ChatServer(BUSY, BUSY, error(500, "out of order")) as server:
        failure = failure_of(model_of(server))

    assert "out of order" in str(failure)
    assert failure.attempts == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_would_fail_again_is_sent_once(status: int) -> None:
    """M-49, M-52."""
    with ChatServer(error(status, "no"), streamed("ok")) as server:
        assert failure_of(model_of(server)).attempts == 1
        assert len(server.asked) == 1


def test_retries_can_be_switched_off() -> None:
    with ChatServer(BUSY) as server:
        failure_of(model_of(server, retry=RetryPolicy(max_retries=0)))
        assert len(server.asked) == 1


def test_two_answers_of_one_model_have_retries_of_their_own() -> None:
    """Law 2, law 7."""
    with ChatServer(*[BUSY, BUSY, streamed("ok")] * 2) as server:
        model = model_of(server)
        for _ in range(2):
            assert isinstance(flow_of(model).run(), Finished)


def test_leaving_while_it_waits_sends_nothing_more() -> None:
    """Law 5, M-51."""
    waiting = threading.Event()

    def wait(_: ModelError, __: float) -> None:
        waiting.set()

    later = error(429, "slow down", headers={"retry-after": "0.05"})
    with ChatServer(later, streamed("late")) as server:
        retry = RetryPolicy(on_retry=wait)

        async def scene() -> None:
            running = asyncio.ensure_future(
                _end(flow_of(model_of(server, retry=retry)))
            )
            await asyncio.to_thread(waiting.wait, 10)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            timer = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.1, timer.set_result, None)
            await timer  # longer than it would have waited
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(scene())
        assert len(server.asked) == 1


async def _end(flow: Flow[ChatEvent]) -> ChatEvent:
    return await flow


@pytest.mark.parametrize(
    "scheduler",
    [None, NewThreadScheduler(), CurrentThreadScheduler.singleton()],
    ids=["none", "threads", "trampoline"],
)
def test_a_retry_waits_under_any_scheduler(
    scheduler: abc.SchedulerBase | None,
) -> None:
    """M-50: and blocks nobody, so that others go on meanwhile."""
    later = error(429, "slow down", headers={"retry-after": "0.05"})
    ends: list[object] = []
    done = threading.Event()

    def end(what: object = None) -> None:
        ends.append(what)
        done.set()

    with ChatServer(later, streamed("ok")) as server:
        source: Observable[ChatEvent] = just(REQUEST).pipe(
            model_of(server), ops.filter(_is_text)
        )
        source.subscribe(ends.append, end, end, scheduler=scheduler)
        assert done.wait(10)

    assert ends == [TextDelta(text="ok"), None]


def _is_text(event: ChatEvent) -> bool:
    return isinstance(event, TextDelta)


def test_the_first_clock_belongs_to_an_attempt() -> None:
    with ChatServer(never(), streamed("ok")) as server:
        timeouts = Timeouts(first_s=0.2)
        end = flow_of(model_of(server, timeouts=timeouts)).run()
        assert server.hung_up.wait(10)

    assert isinstance(end, Finished)
    assert len(server.asked) == 2


def test_the_clock_of_the_turn_holds_for_all_attempts_and_what_is_waited() -> None:
    later = error(429, "slow down", headers={"retry-after": "20"})
    with ChatServer(later) as server:
        failure = failure_of(model_of(server, timeouts=Timeouts(turn_s=0.2)))
        assert len(server.asked) == 1

    assert isinstance(failure, ModelTimeoutError)
    assert (failure.clock, failure.limit_s, failure.delivered) == ("turn", 0.2, False)
    assert failure.provider == server.base_url.split("/")[2]
    assert isinstance(failure.__cause__, RateLimitError)
    assert "slow down" in str(failure)


def test_a_turn_that_is_too_long_closes_the_connection() -> None:
    """Law 5."""
    with ChatServer(never("Hel")) as server:
        failure = failure_of(model_of(server, timeouts=Timeouts(turn_s=0.2)))
        assert server.hung_up.wait(10)

    assert failure.delivered
    assert failure.attempts == 1


def test_a_connection_that_is_not_accepted_is_the_connect_clock() -> None:
    with socket.socket() as listening, ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)  # and accepts nobody: two may wait, and a third one not
        for _ in range(2):
            other = waiting.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(listening.getsockname())
        model = OpenAIChat(
            model="m",
            base_url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1",
            timeouts=Timeouts(connect_s=0.1),
            retry=RetryPolicy(max_retries=1, base_s=0),
        )
        failure = failure_of(model)

    assert isinstance(failure, ModelTimeoutError)
    assert (failure.clock, failure.limit_s) == ("connect", 0.1)
    assert "raise connect_s" in str(failure)
    assert failure.attempts == 2
