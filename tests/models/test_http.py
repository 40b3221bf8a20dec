from __future__ import annotations

import asyncio
import gc
import warnings
import weakref

import pytest
from llmock.pytest_plugin import LLMock

from rxagent.errors import ServerError
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))


def test_a_model_in_a_cycle_with_its_error_closes_its_connections(
    llmock: LLMock,
) -> None:
    """The server keeps them alive, and the traceback of an error holds the model."""
    llmock.outage(status=500)

    async def fail() -> weakref.ref[OpenAIChat]:
        model = OpenAIChat(model="m", retry=RetryPolicy(max_retries=0))
        with pytest.raises(ServerError) as raised:
            await Flow.of(just(REQUEST).pipe(model))
        assert raised.value.__traceback__ is not None
        return weakref.ref(model)

    async def scene() -> None:
        models = [await fail() for _ in range(3)]
        gc.collect()
        assert models[0]() is None
        while len(asyncio.all_tasks()) > 1:  # the clients close
            await asyncio.sleep(0)

    with warnings.catch_warnings(record=True, category=ResourceWarning) as found:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(scene())
        gc.collect()
    assert [str(each.message) for each in found] == []
