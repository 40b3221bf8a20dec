from __future__ import annotations

from uuid import UUID

import pytest

from rxagent.context import Context, Key
from rxagent.errors import ContextTypeError, MissingContextError
from rxagent.memory import CONVERSATION_ID
from rxagent.memory.conversation_id import conversation_id_of


@pytest.mark.parametrize("id_", ["a", 7, UUID(int=1), ("a", 1)])
def test_an_id_of_any_type_is_its_text(id_: object) -> None:
    """S001-31, S001-32."""
    context = Context({"rxagent.conversation_id": id_})

    assert conversation_id_of(context) == str(id_)


@pytest.mark.parametrize(
    "values", [{}, {CONVERSATION_ID.name: None}, {CONVERSATION_ID.name: " "}]
)
def test_without_an_id_the_error_shows_how_to_set_it(values: dict[str, object]) -> None:
    """S001-30, M-61; acceptance 53."""
    with pytest.raises(MissingContextError) as at:
        conversation_id_of(Context(values))

    assert 'pass context={"rxagent.conversation_id": ...}' in str(at.value)


def test_a_place_in_memory_is_no_id() -> None:
    """It is another one in the next process, and may be used again in this one."""
    nobody: list[object] = [object(), iter("ann"), lambda: "ann"]
    for id_ in nobody:
        with pytest.raises(ContextTypeError, match=r"rxagent\.conversation_id"):
            conversation_id_of(Context({CONVERSATION_ID.name: id_}))

    text = "<my conversation at 0x7f>"
    assert conversation_id_of(Context({CONVERSATION_ID.name: text})) == text


def test_the_key_may_be_another_one() -> None:
    key = Key("app.session", str)

    assert conversation_id_of(Context({"app.session": "s"}), key) == "s"
    with pytest.raises(MissingContextError, match=r"app\.session"):
        conversation_id_of(Context({CONVERSATION_ID.name: "s"}), key)
