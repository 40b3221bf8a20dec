"""How often the embedded default model calls the right tool, rightly.

Each prompt of ``tool_prompts.py`` has one tool that fits.  It is asked with that tool
alone, with five, and with five that are ranked.  With ``auto`` the model may choose no
tool as well; ten more prompts that need none tell how often it rightly does.

Run: python bench/schema_tools.py [--model PATH] [--free] [--show]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tool_prompts import CHATS, PROMPTS, TOOLS, ToolPrompt, is_right

from rxagent import ChatOptions, ChatRequest, ChatResponse, ToolSpec, UserMessage, just
from rxagent.advisors import by_spelling, schema_tools
from rxagent.errors import ArgumentsError, MalformedResponseError
from rxagent.models import LocalChat
from rxagent.operators import responses
from rxagent.runtime import Flow
from rxagent.types import Exchange
from rxagent.wire import parse_arguments

Offer = Callable[[ToolPrompt], Sequence[ToolSpec]]


@dataclass(slots=True)
class Score:
    """What came of the prompts."""

    valid: int = 0
    tool: int = 0
    arguments: int = 0
    seconds: list[float] = field(default_factory=list[float])
    misses: list[str] = field(default_factory=list[str])


def one(prompt: ToolPrompt) -> Sequence[ToolSpec]:
    """The right tool alone, as if a perfect ranking had narrowed them."""
    return [TOOLS[prompt.tool]]


def five(prompt: ToolPrompt) -> Sequence[ToolSpec]:
    """All that are offered."""
    return [TOOLS[name] for name in prompt.offered]


def ask(
    exchange: Exchange, text: str, tools: Sequence[ToolSpec], tool_choice: str
) -> ChatResponse:
    request = ChatRequest(
        messages=(UserMessage.of(text),),
        tools=tuple(tools),
        # Where it declines, the answer in words is not what is measured.
        options=ChatOptions(tool_choice=tool_choice, seed=1, max_tokens=1),
    )
    return Flow.of(just(request).pipe(exchange, responses())).run()


def measure(exchange: Exchange, offer: Offer, tool_choice: str) -> Score:
    """Ask all prompts."""
    score = Score()
    for prompt in PROMPTS:
        began = time.perf_counter()
        said = "no JSON"
        try:
            response = ask(exchange, prompt.text, offer(prompt), tool_choice)
            score.valid += 1
            said = "no tool"
            for call in response.tool_calls:
                said = f"{call.name} {call.arguments}"
                right = call.name == prompt.tool
                score.tool += right
                if right and is_right(prompt, parse_arguments(call.arguments)):
                    score.arguments += 1
                    said = ""
        except (MalformedResponseError, ArgumentsError):
            pass
        score.seconds.append(time.perf_counter() - began)
        if said:
            score.misses.append(f"{prompt.text} -> {said}")
    return score


def declined(exchange: Exchange, offer: Offer) -> int:
    """How many of the prompts that need no tool get none."""
    return sum(
        not ask(exchange, text, offer(prompt), "auto").tool_calls
        for text, prompt in zip(CHATS, PROMPTS, strict=False)
    )


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a GGUF file, in place of the default")
    parser.add_argument("--free", action="store_true", help="without quote=True")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    arguments = parser.parse_args()
    quote = arguments.model is None and not arguments.free  # as in LocalChat
    with LocalChat(arguments.model, tools="native") as model:
        Flow.of(just(_warm()).pipe(model)).run()
        print(f"{model!r}, {len(PROMPTS)} prompts, temperature 0")
        print("tools offered    choice    valid  tool  tool+args  chat: none  s each")
        for name, offer, max_tools in (
            ("1, the right", one, None),
            ("5", five, None),
            ("5, ranked to 2", five, 2),
            ("5, ranked to 1", five, 1),
        ):
            exchange = schema_tools(max_tools=max_tools, quote=quote)(model)
            for tool_choice in ("required", "auto"):
                score = measure(exchange, offer, tool_choice)
                none = "-"
                if tool_choice == "auto":
                    none = f"{declined(exchange, offer)}/{len(CHATS)}"
                each = sum(score.seconds) / len(score.seconds)
                print(
                    f"{name:<16} {tool_choice:<9} {score.valid:>5} {score.tool:>5}"
                    f" {score.arguments:>10} {none:>11} {each:>7.2f}",
                    flush=True,
                )
                if arguments.show:
                    print(*(f"    {miss}" for miss in score.misses), sep="\n")
        ranked = [by_spelling(prompt.text, five(prompt)) for prompt in PROMPTS]
        for first in (1, 2):
            hits = sum(
                prompt.tool in [tool.name for tool in tools[:first]]
                for prompt, tools in zip(PROMPTS, ranked, strict=True)
            )
            print(f"the ranking alone has the right tool in the first {first}: {hits}")


def _warm() -> ChatRequest:
    return ChatRequest(
        messages=(UserMessage.of("Hello!"),), options=ChatOptions(max_tokens=1)
    )


if __name__ == "__main__":
    main()
