from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors._search_tool import DISCOVERED_TOOLS, SearchTool
from rxagent.chain import around
from rxagent.choices import check_has
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, Finished
from rxagent.messages import Message, SystemMessage, Text
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.prompt import listed
from rxagent.requests import ChatRequest, ToolSpec
from rxagent.search import KeywordIndex, ToolIndex
from rxagent.tools.rules import check_count, check_switch
from rxagent.tools.withheld import Withheld
from rxagent.types import Advisor, Exchange

__all__ = ["tool_search"]

_INSTRUCTION = (
    "You see only some of your tools. If none of them does what you need, search for "
    "one with {name} before you say that you cannot."
)


def tool_search(
    *,
    index: ToolIndex | None = None,
    limit: int = 5,
    always_include: Collection[str] = (),
    accumulate: bool = True,
) -> Advisor:
    """Offer the model a tool that finds the others, in place of all of them.

    ::

        --q---------|
        [ tool_search() ]                 inner answers q, which offers the search tool
        ----a--b--F-|                     and what was found, in place of all tools

    Each round offers the search tool first, then what is always included, then what was
    found, in the order of discovery.  So what a round offers begins with what the one
    before did, and a provider's cache of prompts stays good as far as that.

    One call installs its three parts: the tool, an instruction at the end of the system
    message, and the choice of what a round offers.  It stands right of a
    ``tool_loop()``, and an agent without one gets one there.  Tools that advisors
    between the two add, such as ``mcp_tools``, are found as all others; those of
    advisors right of it are always offered.  A call of a tool that was not offered does
    not run; the model is told to search for it.  A round that has nothing to hide
    is left as it is.

    What was found is in the context, in `DISCOVERED_TOOLS`: it survives a pause, and a
    turn that is given the context of an earlier one goes on from there.  The advisor
    keeps no sessions; it keeps the indexes of the last few lists of tools, which are
    made with the first search of a list.

    Args:
        index: Finds tools; by default ``KeywordIndex()``.
        limit: Most tools that one search finds.
        always_include: Names of tools that are always offered, in this order.  Those
            that are not there are ignored: they may come later.
        accumulate: Offer all that were found; else those of the last round that
            searched.

    Returns:
        An advisor.  A search that fails is the result of its call, with the error, and
        offers nothing new.  The turn fails with a `ConfigurationError` if it has
        another tool with the name of the search tool.

    Raises:
        ConfigurationError: If ``limit`` is not positive, or ``always_include``
            is no list of names, or ``index`` no index; and where a chain is made, if
            it has no loop to the left.
    """
    check_count("limit", limit, least=1)
    always = _names(always_include)
    by = KeywordIndex() if index is None else index
    such_as = "an index of tools, such as KeywordIndex()"
    if isinstance(by, str):  # which has an "index", too
        raise ConfigurationError(f"index takes {such_as}, not {by!r}")
    check_has("index", by, "index", such_as=such_as)
    check_switch("accumulate", accumulate)
    search_tool = SearchTool(by, limit=limit)

    def offered(request: ChatRequest) -> ChatRequest:
        tools = {tool.name: tool for tool in request.tools}
        if search_tool.name in tools:
            raise ConfigurationError(
                f"tool_search brings a tool {search_tool.name!r}, and the request has "
                "another; rename that one"
            )
        if tools.keys() <= set(always):
            return request
        forced = request.options.tool_choice or ""
        names = dict.fromkeys((*always, *_found(request.context, accumulate), forced))
        return replace(
            request,
            messages=_instructed(request.messages),
            tools=(
                search_tool.over(request.tools),
                *(tools[name] for name in names if name in tools),
            ),
        )

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        answer = just(offered(request)).pipe(inner)
        return answer.pipe(ops.map(partial(_withholding, request.tools)))

    return named(
        "tool_search",
        around(handle),
        settings=f"{type(search_tool.index).__name__}, limit={limit}",
        order=Order.IN_LOOP + 100,
        needs_loop=True,
        offer=ops.map(offered),
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigurationError(
            f"always_include takes a list of names, got the string {given!r}; "
            f"write always_include=[{given!r}]"
        )
    names = listed("always_include", given)
    for each in names:
        name: object = each
        if not isinstance(name, str):
            raise ConfigurationError(
                f"always_include takes names of tools, not {each!r}"
            )
    return tuple(dict.fromkeys(names))


def _found(context: Context, accumulate: bool) -> list[str]:
    found = context.get(DISCOVERED_TOOLS) or {}
    if accumulate:
        return [*found]
    last = max(found.values(), default=0)
    return [name for name, search in found.items() if search == last]


def _instructed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    instruction = _INSTRUCTION.format(name=SearchTool.name)
    for at, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            content = (*message.content, Text(text=f"\n\n{instruction}"))
            told = replace(message, content=content)
            return (*messages[:at], told, *messages[at + 1 :])
    return (SystemMessage.of(instruction), *messages)


def _withholding(tools: Iterable[ToolSpec], event: ChatEvent) -> ChatEvent:
    """Tell the loop which of the tools that are called are there, but not offered."""
    if not isinstance(event, Finished) or event.response.offered is None:
        return event
    called = {call.name for call in event.response.tool_calls}
    offered = {tool.name for tool in event.response.offered}
    withheld = (
        Withheld(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            instead=f"find it with {SearchTool.name}, then call it",
        )
        for tool in tools
        if tool.name in called - offered
    )
    told = (*event.response.offered, *withheld)
    return replace(event, response=replace(event.response, offered=told))
