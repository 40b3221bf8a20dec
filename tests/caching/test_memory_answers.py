from __future__ import annotations

import pytest

from rxagent.caching import KeptAnswer, MemoryAnswers
from rxagent.errors import ConfigurationError
from rxagent.messages import AssistantMessage
from rxagent.runtime import run
from rxagent.testing import assert_answer_store_contract


def test_answers_in_the_process_keep_the_contract() -> None:
    assert_answer_store_contract(lambda most: MemoryAnswers(max_entries=most))


def test_it_shows_how_many_there_are_and_nothing_else() -> None:
    store = MemoryAnswers(max_entries=5)
    run(store.put("k", KeptAnswer(message=AssistantMessage.of("secret")), ttl_s=None))
    assert repr(store) == "MemoryAnswers(1 of 5)"


def test_a_store_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_entries"):
        MemoryAnswers(max_entries=0)
