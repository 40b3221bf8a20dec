"""A chat request as the body that Anthropic reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rxagent.errors import RequestError
from rxagent.messages import AssistantMessage, Message, ToolMessage
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire.anthropic.messages import encode_blocks
from rxagent.wire.anthropic.schema import closed_schema
from rxagent.wire.joined import encoded_once, joined
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.names import check_names
from rxagent.wire.turns import Turn, in_turns, instructions

__all__ = ["RequestEncoder"]

_WITHOUT_SAMPLING = "2026-10-21"  # and all versions since


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEncoder:
    """Encode requests; messages remember their bytes under it.

    Args:
        dialect: Whose thoughts and opaque parts are sent back.
        version: Of the API.
        max_tokens: Longest answer, in tokens, where a request does not say it.
    """

    dialect: str
    version: str
    max_tokens: int

    @property
    def _key(self) -> str:
        return f"anthropic {self.dialect}"

    def body(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        members = self._head(request, model=model, stream=stream)
        try:
            head = dump_json(members)
        except (ValueError, TypeError) as error:
            raise RequestError(f"the options are not JSON: {error}") from None
        start = _last_exchange(request.messages)
        before = joined(
            request.messages[:start],
            key=self._key,
            encode=self._messages,
            may_follow=_begins_with_an_answer,
        )
        now = self._messages(request.messages[start:])
        messages = b",".join(filter(None, (before, *now)))
        if not messages:
            raise RequestError("there is no message to send")
        return b'%b,"messages":[%b]}' % (head[:-1], messages)

    def _messages(self, messages: Iterable[Message]) -> Iterator[bytes]:
        """The messages on the wire: what is said between two answers is one."""
        said: list[bytes] = []
        for turn in in_turns(messages):
            if isinstance(turn, AssistantMessage):
                yield from _message(b"user", said)
                yield from _message(b"assistant", [self._blocks(turn)])
                said = []
            else:
                said.append(self._blocks(turn))
        yield from _message(b"user", said)

    def _blocks(self, turn: Turn) -> bytes:
        return encoded_once(
            turn,
            key=self._key,
            encode=lambda: encode_blocks(turn, dialect=self.dialect),
        )

    def _head(
        self, request: ChatRequest, *, model: str, stream: bool
    ) -> dict[str, object]:
        """Everything but the messages."""
        options = request.options
        for name in ("messages", "system"):
            if name in options.extra:
                raise RequestError(
                    f"extra must not hold {name!r}; that is made of the messages"
                )
        head: dict[str, object] = {
            "model": options.model or model,
            "stream": stream,
            **self._limits(options),
            **self._sampling(options),
            **_output(options),
            **_tools(request.tools, options),
        }
        if options.stop is not None:
            head["stop_sequences"] = options.stop
        if text := instructions(request.messages):
            head["system"] = text
        extra = {name: each for name, each in options.extra.items() if name != "tools"}
        return head | extra

    def _limits(self, options: ChatOptions) -> dict[str, object]:
        """How long the answer may be, and how long the model may think."""
        effort, thinking, budget = options.reasoning_effort, None, 0
        if effort and effort.isdecimal():
            budget = int(effort)
            thinking = {"type": "enabled", "budget_tokens": budget}
        elif effort:
            thinking = {"type": "disabled" if effort == "none" else "adaptive"}
        limit = options.max_tokens
        if limit is not None and budget and limit <= budget:
            raise RequestError(
                f"max_tokens is {limit} and the thinking budget {budget}, and thinking "
                "counts; ask for more tokens than the budget, or for a smaller budget"
            )
        head: dict[str, object] = {
            "max_tokens": self.max_tokens + budget if limit is None else limit
        }
        return {**head, "thinking": thinking} if thinking else head

    def _sampling(self, options: ChatOptions) -> dict[str, object]:
        if options.seed is not None:
            raise RequestError("Anthropic has no seed; leave it out")
        asked: dict[str, object] = {
            "temperature": options.temperature,
            "top_p": options.top_p,
        }
        asked = {name: value for name, value in asked.items() if value is not None}
        if asked and self.version >= _WITHOUT_SAMPLING:
            raise RequestError(
                f"version {self.version} of Anthropic's API has no "
                f"{' and no '.join(asked)}; leave it out, or set an older version"
            )
        return asked


def _message(role: bytes, blocks: list[bytes]) -> Iterator[bytes]:
    if content := b",".join(filter(None, blocks)):
        yield b'{"role":"%b","content":[%b]}' % (role, content)


def _begins_with_an_answer(messages: tuple[Message, ...]) -> bool:
    """Whether they belong to none of the messages before them."""
    return not messages or isinstance(messages[0], AssistantMessage)


def _last_exchange(messages: tuple[Message, ...]) -> int:
    """Where the last answer stands: what the user says next may still grow.

    0 where a result belongs to an earlier answer, so that it finds its call.
    """
    results: set[str] = set()
    for place in reversed(range(len(messages))):
        message = messages[place]
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            asked = {call.id for call in message.tool_calls}
            return place if results <= asked else 0
    return 0


def _output(options: ChatOptions) -> dict[str, object]:
    """What the answer shall look like, and the effort that it is worth."""
    config: dict[str, object] = {}
    effort = options.reasoning_effort
    if effort and effort != "none" and not effort.isdecimal():
        config["effort"] = effort
    if options.response_schema is not None:
        schema = closed_schema(options.response_schema)
        config["format"] = {"type": "json_schema", "schema": schema}
    return {"output_config": config} if config else {}


def _tools(tools: tuple[ToolSpec, ...], options: ChatOptions) -> dict[str, object]:
    choice = options.tool_choice
    further = options.extra.get("tools", [])
    if not is_array(further):
        raise RequestError("the 'tools' of extra must be a list")
    if not (tools or further):
        if choice not in (None, "auto", "none"):
            raise RequestError(f"tool_choice is {choice!r}, but there are no tools")
        return {}
    check_names(tools)
    body: dict[str, object] = {"tools": [*map(_tool, tools), *further]}
    names = [tool.name for tool in tools]
    names += [
        str(each["name"]) for each in further if is_object(each) and "name" in each
    ]
    chosen: dict[str, object] | None = None
    if choice in names:
        chosen = {"type": "tool", "name": choice}
    elif choice in ("auto", "none", "required"):
        chosen = {"type": "any" if choice == "required" else choice}
    elif choice is not None:
        raise RequestError(
            f"tool_choice is {choice!r}, but the tools are {', '.join(names)}"
        )
    if options.parallel_tool_calls is False and choice != "none":
        chosen = {**(chosen or {"type": "auto"}), "disable_parallel_tool_use": True}
    if chosen:
        body["tool_choice"] = chosen
    return body


def _tool(tool: ToolSpec) -> dict[str, object]:
    about = {"description": tool.description} if tool.description else {}
    return {
        "name": tool.name,
        **about,
        "input_schema": {"type": "object", **tool.parameters},
    }
