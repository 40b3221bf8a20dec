from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import HistoryError
from rxagent.memory.rows import messages_of, rows_of
from rxagent.messages import Message, UserMessage
from tests.test_history import MESSAGES

ROW = rows_of([UserMessage.of("hello")])[0]


@settings(max_examples=50)
@given(st.lists(MESSAGES).map(tuple))
def test_messages_come_back_from_their_rows(messages: tuple[Message, ...]) -> None:
    rows = rows_of(messages)

    found = messages_of("a", rows)

    assert found == messages
    assert [each.id for each in found] == [each.id for each in messages]
    assert not any(b"\n" in row for row in rows)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (b'{"role": "robot"}', "message 1 of conversation 'a': .*robot"),
        (b'{"role": "user"}', "message 1 of conversation 'a': user.content: "),
        (ROW[:-5], "message 1 of conversation 'a': .*JSON"),
        (b"\xff", "message 1 of conversation 'a': .*JSON"),
        (b"", "conversation 'a': the document: .*JSON"),
    ],
    ids=["a robot", "no content", "cut off", "no text", "nothing"],
)
def test_a_row_that_is_no_message_is_named(row: bytes, says: str) -> None:
    with pytest.raises(HistoryError, match=says):
        messages_of("a", [ROW, row, ROW])
