"""What of a turn goes into a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from rxagent.errors import GuardError, OutputError
from rxagent.events import (
    ChatEvent,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolFinished,
)
from rxagent.messages import (
    AssistantMessage,
    Message,
    Refusal,
    Text,
    ToolMessage,
    UserMessage,
)
from rxagent.responses import ChatResponse

Keep: TypeAlias = Literal["transcript", "answer"]
OnFailure: TypeAlias = Literal["discard", "mark", "keep_user"]


class TurnRecord:
    """Made for one turn, within its subscription.

    Args:
        prompt: What was asked, without what a memory put in front of it.
        keep: Of a turn that ends well.
        on_failure: What is kept of one that does not.
        in_loop: Whether results in the prompt are those of the round before, whose
            calls are stored.
    """

    def __init__(
        self,
        prompt: Sequence[Message],
        *,
        keep: Keep,
        on_failure: OnFailure,
        in_loop: bool = False,
    ) -> None:
        self._prompt = prompt
        self._keep: Keep = keep
        self._on_failure: OnFailure = on_failure
        self._in_loop = in_loop
        self._rounds: list[Message] = []
        self._texts: list[str] = []  # since the last boundary

    def note(self, event: ChatEvent) -> None:
        """Take what may be all that there will be of this turn."""
        if self._on_failure != "mark":
            return
        match event:
            case TextDelta(text=text):
                self._texts.append(text)
            case RoundFinished(response=response):
                self._rounds += response.transcript or (response.message,)
                self._texts.clear()
            case ToolFinished(message=message):
                self._rounds.append(message)
            case Retracted():
                self._texts.clear()
            case _:
                pass

    def ended(self, response: ChatResponse) -> tuple[Message, ...]:
        """What is kept of a turn that has ended, or pauses."""
        if response.blocked_by is not None or response.finish_reason == "blocked":
            return ()
        if self._keep == "answer":
            answer = _answer(response)
            return (*self._question(), answer) if answer else ()
        return (
            *self._asked(),
            *(response.transcript or (response.message,)),
            *_results_before_pause(response),
        )

    def broken(self, error: Exception | None) -> tuple[Message, ...]:
        """What is kept of a turn that has failed, or was left if there is no error."""
        if isinstance(error, GuardError):
            return ()
        results = self._results_before()
        if self._on_failure == "discard":
            return results
        if self._on_failure == "keep_user":
            return results or self._question()  # stored with the first round
        rounds = self._rounds if self._keep == "transcript" else []
        asked = self._asked() if self._keep == "transcript" else self._question()
        # What did not pass is not what the model has to go on from.
        text = "" if isinstance(error, OutputError) else "".join(self._texts)
        if text.strip():
            part = Text(text=text)
            said = AssistantMessage(content=(part,), mark="interrupted")
            return (*asked, *rounds, said)
        return (*asked, *rounds) if rounds else results

    def _results_before(self) -> tuple[Message, ...]:
        """What tools did in the round before this one, which went well."""
        if not self._in_loop or self._keep == "answer":
            return ()
        return tuple(m for m in self._asked() if isinstance(m, ToolMessage))

    def _asked(self) -> tuple[Message, ...]:
        """The last message of the user, or the results of the last round."""
        asked: list[Message] = []
        for message in reversed(self._prompt):
            if isinstance(message, ToolMessage):
                asked.append(message)
            elif asked:
                break
            elif isinstance(message, UserMessage):
                return (message,)
        return tuple(reversed(asked))

    def _question(self) -> tuple[Message, ...]:
        users = [each for each in self._prompt if isinstance(each, UserMessage)]
        return tuple(users[-1:])


def _answer(response: ChatResponse) -> AssistantMessage | None:
    """The words of an answer; none if the turn ended in the middle of something."""
    message = response.message
    words = tuple(each for each in message.content if isinstance(each, Text | Refusal))
    if message.tool_calls or not any(each.text.strip() for each in words):
        return None
    return AssistantMessage(content=words, id=message.id)


def _results_before_pause(response: ChatResponse) -> tuple[ToolMessage, ...]:
    """What calls came to that will not run again when the turn goes on."""
    if response.snapshot is None:
        return ()
    waiting = response.snapshot.pending
    results = response.snapshot.results
    return tuple(each for each in results if each.tool_call_id not in waiting)
