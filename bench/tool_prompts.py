"""Twenty prompts, each with the tool and the arguments that a person would choose.

Five tools are offered with each prompt, the right one among them and at no fixed
place.  Ten more prompts need no tool.  Written before the advisor that they measure;
its worked examples use other tools and other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rxagent.requests import ToolSpec

__all__ = ["CHATS", "PROMPTS", "TOOLS", "ToolPrompt", "is_right"]


def _tool(
    name: str, description: str, /, *optional: str, **properties: dict[str, object]
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "required": [key for key in properties if key not in optional],
            "additionalProperties": False,
        },
    )


def _text(description: str) -> dict[str, object]:
    return {"type": "string", "description": description}


def _number(description: str, kind: str = "number") -> dict[str, object]:
    return {"type": kind, "description": description}


_TOOLS = (
    _tool(
        "get_weather",
        "Get the weather forecast of a city.",
        "unit",
        city=_text("Name of the city."),
        unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    ),
    _tool(
        "calculate",
        "Calculate an arithmetic expression.",
        expression=_text("Such as (1 + 2) * 3."),
    ),
    _tool(
        "set_timer",
        "Start a timer that rings after some minutes.",
        minutes=_number("How long.", "integer"),
    ),
    _tool(
        "send_email",
        "Send an email to someone.",
        to=_text("Email address of the receiver."),
        subject=_text("Subject line."),
    ),
    _tool(
        "translate",
        "Translate a text into another language.",
        text=_text("What to translate."),
        language=_text("Name of the language to translate into."),
    ),
    _tool(
        "search_files",
        "Find files on this computer by a word in their name.",
        word=_text("The word to look for."),
        folder=_text("Where to look."),
    ),
    _tool(
        "convert_currency",
        "Convert an amount of money between currencies.",
        amount=_number("How much."),
        source=_text("Currency code to convert from, such as CHF."),
        target=_text("Currency code to convert to."),
    ),
    _tool(
        "get_time",
        "Get the current time in a city.",
        city=_text("Name of the city."),
    ),
    _tool(
        "play_song",
        "Play a song.",
        title=_text("Title of the song."),
        artist=_text("Who sings it."),
    ),
    _tool(
        "get_stock_price",
        "Get the price of a share on the stock market.",
        symbol=_text("Ticker symbol."),
    ),
    _tool(
        "define_word",
        "Look up what a word means in the dictionary.",
        word=_text("The word."),
    ),
    _tool(
        "set_light",
        "Switch the light of a room on or off.",
        room=_text("Name of the room."),
        on={"type": "boolean", "description": "True for on, false for off."},
    ),
    _tool(
        "get_directions",
        "Get driving directions between two places.",
        start=_text("Where the trip starts."),
        destination=_text("Where the trip ends."),
    ),
)
TOOLS: Mapping[str, ToolSpec] = {tool.name: tool for tool in _TOOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPrompt:
    """A prompt and what is right.

    Args:
        text: What the user says.
        tool: Name of the right tool.
        arguments: Accepted values of each argument; letter case, quotes and spaces
            do not count.  An optional argument that is not here must be absent.
        offered: Names of the five tools, ``tool`` among them.
    """

    text: str
    tool: str
    arguments: Mapping[str, tuple[str | float | bool, ...]]
    offered: tuple[str, ...]


def _prompt(
    text: str,
    tool: str,
    offered: str,
    /,
    **arguments: tuple[str | float | bool, ...],
) -> ToolPrompt:
    return ToolPrompt(
        text=text, tool=tool, arguments=arguments, offered=tuple(offered.split())
    )


PROMPTS = (
    _prompt(
        "What's the weather like in Oslo?",
        "get_weather",
        "set_timer get_weather get_time calculate send_email",
        city=("Oslo",),
    ),
    _prompt(
        "Will it rain in Buenos Aires tomorrow?",
        "get_weather",
        "define_word translate search_files get_weather set_light",
        city=("Buenos Aires",),
    ),
    _prompt(
        "How hot is it in Chicago, in fahrenheit?",
        "get_weather",
        "get_weather convert_currency get_directions calculate get_stock_price",
        city=("Chicago",),
        unit=("fahrenheit",),
    ),
    _prompt(
        "What is 128 * 46?",
        "calculate",
        "convert_currency set_timer calculate get_time define_word",
        expression=("128*46", "46*128"),
    ),
    _prompt(
        "Please work out (17 + 5) / 4 for me.",
        "calculate",
        "translate play_song search_files set_light calculate",
        expression=("(17+5)/4",),
    ),
    _prompt(
        "Set a timer for 12 minutes.",
        "set_timer",
        "get_time set_timer play_song send_email get_weather",
        minutes=(12,),
    ),
    _prompt(
        "The pasta needs 9 minutes, let me know when it is done.",
        "set_timer",
        "calculate get_directions set_light define_word set_timer",
        minutes=(9,),
    ),
    _prompt(
        "Send an email to maria@example.com with the subject 'Lunch on Friday'.",
        "send_email",
        "send_email translate search_files get_directions play_song",
        to=("maria@example.com",),
        subject=("Lunch on Friday",),
    ),
    _prompt(
        "Write to support@example.org, subject: Broken screen.",
        "send_email",
        "get_weather get_stock_price send_email set_timer define_word",
        to=("support@example.org",),
        subject=("Broken screen",),
    ),
    _prompt(
        "Translate 'good night' into Spanish.",
        "translate",
        "define_word play_song translate send_email get_time",
        text=("good night",),
        language=("Spanish",),
    ),
    _prompt(
        "How do you say 'where is the station' in Japanese?",
        "translate",
        "translate get_directions get_time search_files calculate",
        text=("where is the station", "where is the station?"),
        language=("Japanese",),
    ),
    _prompt(
        "Find files with invoice in their name in the Documents folder.",
        "search_files",
        "send_email define_word get_stock_price search_files set_light",
        word=("invoice",),
        folder=("Documents", "the Documents folder", "Documents folder"),
    ),
    _prompt(
        "Convert 250 USD to EUR.",
        "convert_currency",
        "calculate get_stock_price set_timer translate convert_currency",
        amount=(250,),
        source=("USD",),
        target=("EUR",),
    ),
    _prompt(
        "How much is 40 GBP in JPY?",
        "convert_currency",
        "get_weather convert_currency get_time get_stock_price define_word",
        amount=(40,),
        source=("GBP",),
        target=("JPY",),
    ),
    _prompt(
        "What time is it in Nairobi?",
        "get_time",
        "set_timer get_weather get_directions get_time play_song",
        city=("Nairobi",),
    ),
    _prompt(
        "Play Yesterday by The Beatles.",
        "play_song",
        "search_files get_time play_song set_light set_timer",
        title=("Yesterday",),
        artist=("The Beatles", "Beatles"),
    ),
    _prompt(
        "What is the share price of NVDA?",
        "get_stock_price",
        "get_stock_price convert_currency calculate get_weather send_email",
        symbol=("NVDA",),
    ),
    _prompt(
        "What does the word 'ephemeral' mean?",
        "define_word",
        "translate search_files send_email define_word play_song",
        word=("ephemeral",),
    ),
    _prompt(
        "Turn off the light in the kitchen.",
        "set_light",
        "set_timer set_light get_weather play_song get_directions",
        room=("kitchen", "the kitchen"),
        on=(False,),
    ),
    _prompt(
        "How do I drive from Madrid to Lisbon?",
        "get_directions",
        "get_weather get_time convert_currency translate get_directions",
        start=("Madrid",),
        destination=("Lisbon",),
    ),
)

CHATS = (
    "Hello!",
    "Tell me a joke.",
    "Who wrote Hamlet?",
    "Thank you, that was helpful.",
    "Why is the sky blue?",
    "What is your name?",
    "Write a short poem about the sea.",
    "Give me three ideas for a birthday present.",
    "What is the capital of France?",
    "Explain what a neural network is.",
)


def is_right(prompt: ToolPrompt, arguments: Mapping[str, object]) -> bool:
    """Return whether ``arguments`` are those that ``prompt`` asks for."""
    return arguments.keys() == prompt.arguments.keys() and all(
        any(_same(arguments[name], accepted) for accepted in values)
        for name, values in prompt.arguments.items()
    )


def _same(found: object, accepted: str | float | bool) -> bool:
    if isinstance(accepted, str):
        return isinstance(found, str) and _plain(found) == _plain(accepted)
    return isinstance(found, bool) == isinstance(accepted, bool) and found == accepted


def _plain(text: str) -> str:
    return "".join(text.casefold().replace('"', "").replace("'", "").split())
