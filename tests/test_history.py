from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import HistoryError
from rxagent.history import dump_messages, load_messages
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_MEDIA = st.one_of(
    st.builds(Image, data=st.binary()),
    st.builds(Image, url=TEXTS),
    st.builds(Audio, data=st.binary(), media_type=TEXTS),
    st.builds(File, data=st.binary(), name=TEXTS),
)
_USER_PARTS = st.lists(st.builds(Text, text=TEXTS) | _MEDIA).map(tuple)
_ASSISTANT_PARTS = st.lists(
    st.one_of(
        st.builds(Text, text=TEXTS),
        st.builds(Reasoning, text=TEXTS, signature=st.none() | TEXTS),
        st.builds(Refusal, text=TEXTS),
        st.builds(Opaque, dialect=TEXTS, data=TEXTS),
        st.builds(
            ToolCall, id=TEXTS, name=TEXTS, arguments=TEXTS, truncated=st.booleans()
        ),
    )
).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage.of, TEXTS),
    st.builds(UserMessage, content=_USER_PARTS),
    st.builds(AssistantMessage, content=_ASSISTANT_PARTS),
    st.builds(
        ToolMessage,
        content=_USER_PARTS,
        tool_call_id=TEXTS,
        name=TEXTS,
        is_error=st.booleans(),
    ),
)


@given(st.lists(MESSAGES).map(tuple))
def test_a_conversation_comes_back_as_it_was(messages: tuple[Message, ...]) -> None:
    loaded = load_messages(dump_messages(messages))

    assert loaded == messages
    assert [each.id for each in loaded] == [each.id for each in messages]


def test_the_text_is_an_array_that_other_programs_can_read() -> None:
    [message] = json.loads(dump_messages([UserMessage.of("grüezi", Image(data=b"\0"))]))

    assert message["role"] == "user"
    assert message["content"][0] == {"type": "text", "text": "grüezi"}
    assert message["content"][1]["data"] == "AA=="


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "the document"),
        (b'[{"role": "robot"}]', "0: .*robot"),
        (b'[{"role": "system", "content": [{"type": "text"}]}]', "0.system.content"),
        (b'[{"role": "user", "content": [], "colour": 1}]', "colour"),
    ],
    ids=["no JSON", "unknown role", "text is missing", "unknown member"],
)
def test_what_cannot_be_read_is_an_error_that_says_where(
    data: bytes, says: str
) -> None:
    with pytest.raises(HistoryError, match=says):
        load_messages(data)


def test_half_of_a_surrogate_pair_is_dumped_as_what_stands_for_it() -> None:
    messages = (
        UserMessage.of("a\ud800", Image(data=b"\xff\x00")),
        AssistantMessage.of(ToolCall(id="i", name="f", arguments="\ud83d")),
    )

    asked, said = load_messages(dump_messages(messages))

    assert isinstance(asked, UserMessage)
    assert isinstance(said, AssistantMessage)
    assert asked.content == (Text(text="a\ufffd"), Image(data=b"\xff\x00"))
    assert said.tool_calls[0].arguments == "\ufffd"
