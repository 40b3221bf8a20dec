"""An agent: a chain with its defaults, folded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack
from uuid import uuid4

from reactivex import Observable, abc

from rxagent.advisors import tool_loop
from rxagent.advisors._resumption import RESUME, Resumption
from rxagent.agent_tool import asking
from rxagent.chain import chain
from rxagent.context import Context
from rxagent.decisions import Decision
from rxagent.errors import ConfigurationError, RequestError
from rxagent.events import ChatEvent
from rxagent.messages import SystemMessage
from rxagent.named import Named, name_of
from rxagent.operators import concat_each, just, one_finished, responses
from rxagent.prompt import Prompt, asked, given, listed
from rxagent.requests import ChatOptions, ChatRequest, Failure, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow, with_room
from rxagent.snapshots import Snapshot
from rxagent.tools import tool, tool_index
from rxagent.tools.rules import Declared
from rxagent.tools.tool import AnyTool
from rxagent.types import Advisor, Exchange

__all__ = ["Agent", "Prompt"]


class Agent:
    """A model with instructions, tools and advisors.  It is an operator.

    ::

        --"hi"--------"and you?"-----|
        [ agent ]                         one turn after the other
        ---a--b--F----------c--d--F--|

    ``questions.pipe(agent)`` answers a stream of prompts; with
    ``ops.switch_map(agent.stream)`` a new one cancels the running answer.  An agent
    keeps no state: any number of turns may run at once.

    Args:
        model: Any exchange; another agent too.
        system: Instructions, used if a prompt brings none of its own.
        tools: What the model may call.  Without an advisor that runs them, a
            ``tool_loop()`` is added innermost.
        advisors: Outermost first.
        options: Defaults; a call's options win field by field.
        context: Defaults; a call's values win.
        name: Shown in the origin of events, in logs and in errors.

    Raises:
        ConfigurationError: If two tools have one name, two advisors run tools, or
            something is not what it should be.
    """

    def __init__(
        self,
        model: Exchange,
        *,
        system: str | None = None,
        tools: Iterable[ToolSpec] = (),
        advisors: Iterable[Advisor] = (),
        options: ChatOptions | None = None,
        context: Mapping[str, object] | None = None,
        name: str = "agent",
    ) -> None:
        if not isinstance(system, str | None):
            raise ConfigurationError(
                f"system must be a text, got {system!r}; several messages are a prompt"
            )
        self.name = name
        self._model = model
        self._system = system
        self._tools = listed("tools", tools)
        self._advisors = listed("advisors", advisors)
        self._options = given(options)
        self._context = Context(context)
        tool_index(self._tools)
        self._loop = tool_loop()  # where no advisor runs tools; it knows its pauses
        self._with_tools = self._fold((), has_tools=True)
        self._without_tools = self._fold((), has_tools=False)

    def stream(
        self,
        prompt: Prompt,
        *,
        context: Mapping[str, object] | None = None,
        tools: Iterable[ToolSpec] = (),
        options: ChatOptions | None = None,
        advisors: Iterable[Advisor] = (),
    ) -> Flow[ChatEvent]:
        """Answer ``prompt`` as a stream of events.

        Args:
            prompt: See `Prompt`.
            context: Added to the agent's, by name.
            tools: Added to the agent's.
            options: Win over the agent's, field by field.
            advisors: Put around the agent's own.

        Returns:
            A cold flow: each subscription is a run of its own; disposing cancels it.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: As for the agent itself.
        """
        request = self._request(prompt, context, listed("tools", tools), options)
        around = listed("advisors", advisors)
        if around:
            exchange = self._fold(around, has_tools=bool(request.tools))
        else:
            exchange = self._with_tools if request.tools else self._without_tools

        # No `defer`, and no pipe behind it: two calls more for every event, each.
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            origin = replace(
                request.origin,
                run_id=request.origin.run_id or uuid4().hex,
                path=(*request.origin.path, self.name),
                round=0,
            )
            failure = Failure(request.failure)
            asked = just(replace(request, origin=origin, failure=failure))
            answer = asked.pipe(
                exchange, one_finished(self.name, failed=failure.is_now)
            )
            return with_room(lambda: answer.subscribe(observer, scheduler=scheduler))

        return Flow(subscribe)

    def call(
        self,
        prompt: Prompt,
        *,
        context: Mapping[str, object] | None = None,
        tools: Iterable[ToolSpec] = (),
        options: ChatOptions | None = None,
        advisors: Iterable[Advisor] = (),
    ) -> Flow[ChatResponse]:
        """Answer ``prompt`` with one response: the end of `stream`, and nothing else.

        Args:
            prompt: See `Prompt`.
            context: Added to the agent's, by name.
            tools: Added to the agent's.
            options: Win over the agent's, field by field.
            advisors: Put around the agent's own.

        Returns:
            A cold flow of one response.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: As for the agent itself.
        """
        return self.stream(
            prompt, context=context, tools=tools, options=options, advisors=advisors
        ).pipe(responses())

    def resume(
        self,
        snapshot: Snapshot,
        decisions: Mapping[str, Decision] | None = None,
        *,
        context: Mapping[str, object] | None = None,
        tools: Iterable[ToolSpec] = (),
        options: ChatOptions | None = None,
        advisors: Iterable[Advisor] = (),
    ) -> Flow[ChatEvent]:
        """Go on with a paused turn, through the same chain, once.

        Args:
            snapshot: Of a response with ``finish_reason="paused"``.
            decisions: By the ids of the calls that wait, and of those about which the
                snapshot keeps another decision.  ``Approve`` runs a call, or runs it
                again where the environment failed; ``Reject`` and ``Reply`` answer it.
                Where the environment failed, no decision leaves the error to the model.
            context: Added to the agent's, by name; what tools wrote before the pause
                comes from the snapshot.
            tools: Added to the agent's.
            options: Win over the agent's, field by field.
            advisors: Put around the agent's own.

        Raises:
            ConfigurationError: If the agent runs no tools.

        Returns:
            A cold flow.  Its error is a `SnapshotError` if the turn has been resumed
            before, and a `RequestError` if the decisions do not fit the pause.
        """
        resumption = Resumption(snapshot, dict(decisions or {}))
        has_tools = bool(self._tools) or bool(tools := listed("tools", tools))
        if not _owners((*advisors, *self._effective((), has_tools=has_tools))):
            raise ConfigurationError(
                f"agent {self.name!r} runs no tools, so it has no turn to resume"
            )
        return self.stream(
            ChatRequest(messages=snapshot.messages),
            context={**(context or {}), RESUME.name: resumption},
            tools=tools,
            options=options,
            advisors=advisors,
        )

    def as_tool(
        self, name: str, description: str, **rules: Unpack[Declared]
    ) -> AnyTool:
        """Make a tool of this agent: the model that calls it writes the prompt.

        Its events are the tool's progress, with the path of both agents; its answer is
        the result, and its tokens count for the turn that called it.  Cancelling that
        turn cancels it.

        Args:
            name: As the model writes it.
            description: What it is good for.
            **rules: How to run it; see `rxagent.tools.ToolRules`.

        Returns:
            A tool with one argument, ``prompt``.
        """
        return tool(name=name, description=description, **rules)(asking(self.stream))

    def __call__(self, prompts: Observable[Prompt]) -> Flow[ChatEvent]:
        """Answer each prompt, one turn after the other."""
        if not isinstance(prompts, Observable):
            raise RequestError(
                f"{prompts!r} is no stream of prompts; ask one prompt with "
                "agent.stream(prompt) or agent.call(prompt)"
            )
        return Flow[ChatEvent].of(concat_each(self.stream)(prompts))

    def describe(self) -> str:
        """The effective chain, outermost first, one line each."""
        advisors = self._effective((), has_tools=bool(self._tools))
        looped = False
        lines = [f"{self.name}"]
        for advisor in advisors:
            text = str(advisor) if isinstance(advisor, Named) else name_of(advisor)
            lines.append(f"  {'each round: ' if looped else ''}{text}")
            if isinstance(advisor, Named) and advisor.owns_tools:
                looped = True
                lines.extend(f"    tool {tool.name}" for tool in self._tools)
        lines.append(f"  {'each round: ' if looped else ''}{self._model!r}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {self._model!r})"

    def _effective(
        self, around: tuple[Advisor, ...], *, has_tools: bool
    ) -> tuple[Advisor, ...]:
        advisors = (*around, *self._advisors)
        owners = _owners(advisors)
        if len(owners) > 1:
            raise ConfigurationError(
                f"{len(owners)} advisors run tools, there may be one: "
                + ", ".join(owners)
            )
        return (*advisors, self._loop) if has_tools and not owners else advisors

    def _fold(self, around: tuple[Advisor, ...], *, has_tools: bool) -> Exchange:
        return chain(self._effective(around, has_tools=has_tools), self._model)

    def _request(
        self,
        prompt: Prompt,
        context: Mapping[str, object] | None,
        tools: tuple[ToolSpec, ...],
        options: ChatOptions | None,
    ) -> ChatRequest:
        request = asked(prompt)
        messages = request.messages
        if self._system and not any(isinstance(m, SystemMessage) for m in messages):
            messages = (SystemMessage.of(self._system), *messages)
        all_tools = (*self._tools, *request.tools, *tools)
        tool_index(all_tools)
        return replace(
            request,
            messages=messages,
            tools=all_tools,
            options=self._options.merged(request.options).merged(given(options)),
            context=self._context | request.context | (context or {}),
        )


def _owners(advisors: Iterable[Advisor]) -> list[str]:
    return [a.name for a in advisors if isinstance(a, Named) and a.owns_tools]
