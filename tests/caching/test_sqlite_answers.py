"""Answers in a file."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from reactivex import Observable

from rxagent import Agent
from rxagent.advisors import exact_cache
from rxagent.caching import KeptAnswer, SqliteAnswers
from rxagent.errors import ConfigurationError, HistoryError, StoreError
from rxagent.memory import SqliteStore
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.runtime import Flow, run
from rxagent.testing import ScriptedModel, assert_answer_store_contract

ANSWER = KeptAnswer(message=AssistantMessage.of("the answer"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


def opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None))


def test_answers_in_a_file_keep_the_contract(tmp_path: Path) -> None:
    names = count()
    with ExitStack() as stack:
        assert_answer_store_contract(
            lambda most: stack.enter_context(
                SqliteAnswers(tmp_path / f"{next(names)}.db", max_entries=most)
            )
        )


def test_answers_in_a_database_in_memory_keep_the_contract() -> None:
    with ExitStack() as stack:
        assert_answer_store_contract(
            lambda most: stack.enter_context(
                SqliteAnswers(":memory:", max_entries=most)
            )
        )


def test_an_answer_outlives_the_process_and_no_question_is_in_the_file(
    path: Path,
) -> None:
    for expected in (False, True):
        with SqliteAnswers(path) as store:
            agent = Agent(
                ScriptedModel("The code is 7."),
                advisors=[exact_cache(store, namespace="a")],
            )
            assert agent.call("What is my secret?").run().cached is expected

    kept = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"The code is 7." in kept
    assert b"secret" not in kept


def test_what_is_too_old_is_erased_with_the_next_write(path: Path) -> None:
    with SqliteAnswers(path) as store:
        run(store.put("old", ANSWER, ttl_s=1e-9))
        assert run(store.put("new", ANSWER, ttl_s=None)) == ("old",)
    with opened(path) as database:
        assert database.execute("SELECT key FROM answers").fetchall() == [("new",)]


def test_a_file_of_conversations_is_no_file_of_answers(path: Path) -> None:
    with SqliteStore(path) as conversations:
        run(conversations.append("a", [UserMessage.of("hello")]))
    with SqliteAnswers(path) as store, pytest.raises(StoreError, match="another path"):
        run(store.get("k"))
    path.unlink()
    with SqliteAnswers(path) as store:
        run(store.put("k", ANSWER, ttl_s=None))
    with (
        SqliteStore(path) as conversations,
        pytest.raises(StoreError, match="another path"),
    ):
        run(conversations.load("a"))


def test_what_is_no_answer_says_so(path: Path) -> None:
    with SqliteAnswers(path) as store:
        run(store.put("k", ANSWER, ttl_s=None))
        user = '{"role": "user", "content": []}'
        said = '{"role": "assistant", "content": []}'
        wrongs = [
            "{",
            "{}",
            "[]",
            '{"message": {"role": "user"}}',
            f'{{"message": {user}}}',
            f'{{"message": {said}, "delivered": [["song", "la"]]}}',
        ]
        for wrong in wrongs:
            with opened(path) as database:
                database.execute("UPDATE answers SET json = ?", (wrong,))
            with pytest.raises(HistoryError):
                run(store.get("k"))


def test_a_store_that_is_closed_says_so(path: Path) -> None:
    store = SqliteAnswers(path)
    store.close()
    uses: list[Observable[object]] = [
        Flow[object].of(store.get("k")),
        Flow[object].of(store.put("k", ANSWER, ttl_s=None)),
        Flow[object].of(store.clear()),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="is closed"):
            run(use)


def test_nothing_is_opened_before_the_first_subscription(path: Path) -> None:
    with SqliteAnswers(path) as store:
        store.get("k")
        assert not path.exists()


def test_it_shows_where_it_is_and_nothing_else() -> None:
    assert repr(SqliteAnswers("a.db")) == "SqliteAnswers('a.db')"
    shown = "KeptAnswer(finish_reason_raw=None, model=None, id=None)"
    assert repr(ANSWER) == shown
    with pytest.raises(ConfigurationError, match="max_entries"):
        SqliteAnswers("a.db", max_entries=0)
