"""Histories as no program should have left them."""

from __future__ import annotations

from hypothesis import strategies as st

from rxagent.messages import (
    AssistantMessage,
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

__all__ = ["HISTORIES", "INVARIANTS"]

INVARIANTS = [
    "paired-tools",
    "valid-json-args",
    "system-first-once",
    "no-empty-assistant",
    "utf8-encodable",
]

_IDS = st.sampled_from(["x", "y", "z"])  # few, so that they meet
_TEXTS = st.sampled_from(["", " ", "hello", "\ud83d"]).map(lambda t: Text(text=t))
_CALLS = st.builds(
    ToolCall,
    id=_IDS,
    name=st.just("f"),
    arguments=st.sampled_from(["{}", '{"a": 1}', "", "{", "[]"]),
)
_SAID = st.one_of(
    _TEXTS,
    _CALLS,
    st.builds(
        Reasoning,
        text=st.just("hm"),
        signature=st.sampled_from([None, "s"]),
        dialect=st.sampled_from([None, "anthropic"]),
    ),
    st.builds(Refusal, text=st.sampled_from(["", "no"])),
    st.builds(Opaque, dialect=st.just("openai-responses"), data=st.just("{}")),
)

_MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, content=st.tuples(_TEXTS)),
    st.builds(
        UserMessage,
        content=st.lists(_TEXTS, max_size=2).map(tuple),
        mark=st.sampled_from([None, None, "pinned", "summary"]),
    ),
    st.builds(
        AssistantMessage,
        content=st.lists(_SAID, max_size=3).map(tuple),
        mark=st.sampled_from([None, None, "interrupted", "pinned"]),
    ),
    st.builds(
        ToolMessage,
        content=st.tuples(_TEXTS),
        tool_call_id=_IDS,
        name=st.just("f"),
    ),
)

HISTORIES: st.SearchStrategy[tuple[Message, ...]] = st.lists(
    _MESSAGES, max_size=12
).map(tuple)
"""Any messages in any order: orphans, half turns, empty ones, ids used twice."""
