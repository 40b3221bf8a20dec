"""An agent: a chain with its defaults, folded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack
from uuid import uuid4

from reactivex import Observable, abc

from rxagent.advisors import resuming, tool_loop, validate
from rxagent.advisors._resumption import RESUME
from rxagent.agent_tool import asking
from rxagent.answers_in_types import AnswersInTypes, CallOptions
from rxagent.chain import chain
from rxagent.context import Context
from rxagent.decisions import Decision
from rxagent.effective import described, loop_owners, with_check, with_loop
from rxagent.entities.asking import asking_for
from rxagent.errors import ConfigurationError, RequestError
from rxagent.events import ChatEvent
from rxagent.messages import SystemMessage
from rxagent.operators import concat_each, just, one_finished, responses
from rxagent.output import output_type
from rxagent.prompt import Prompt, asked, given, listed
from rxagent.requests import ChatOptions, ChatRequest, Failure, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow, with_room
from rxagent.snapshots import Snapshot
from rxagent.tools import tool, tool_index
from rxagent.tools.rules import Declared
from rxagent.tools.tool import AnyTool
from rxagent.types import Advisor, AnswerMode, Exchange

__all__ = ["Agent", "Prompt"]


class Agent(AnswersInTypes):
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
            ``tool_loop()`` is added innermost, but left of advisors that need one.
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
        request, around = self._asked(
            prompt, context=context, tools=tools, options=options, advisors=advisors
        )
        if around:
            exchange = self._fold(around, has_tools=bool(request.tools))
        else:
            exchange = self._with_tools if request.tools else self._without_tools
        return self._run(request, exchange)

    def asking(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        live: bool = False,
        **call: Unpack[CallOptions],
    ) -> Flow[ChatEvent]:
        """Answer ``prompt`` in the form of a type; see `AnswersInTypes.asking`."""
        request, around = self._asked(prompt, **call)
        wanted = output_type(kind)
        advisors = with_check(
            self._effective(around, has_tools=bool(request.tools)),
            validate(wanted, max_retries=max_retries, on_exhausted="raise", live=live),
        )
        told = asking_for(wanted, model=self._model, mode=mode)
        typed = replace(request, typed=True)
        return self._run(typed, chain((*advisors, told), self._model))

    def _run(self, request: ChatRequest, exchange: Exchange) -> Flow[ChatEvent]:
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

    def call(self, prompt: Prompt, **call: Unpack[CallOptions]) -> Flow[ChatResponse]:
        """Answer ``prompt`` with one response: the end of `stream`, and nothing else.

        Args:
            prompt: See `Prompt`.
            **call: As for `stream`.

        Returns:
            A cold flow of one response; errors are those of `stream`.
        """
        return self.stream(prompt, **call).pipe(responses())

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

        A turn that was asked for a type: ``entity(Film, resuming(snapshot, ...))``.

        Args:
            snapshot: Of a response with ``finish_reason="paused"``.
            decisions: See `rxagent.advisors.resuming`.
            context: As for `stream`; what tools wrote before comes from the snapshot.
            tools: As for `stream`.
            options: As for `stream`.
            advisors: As for `stream`.

        Returns:
            A cold flow.  Its error is a `SnapshotError` if the turn has been resumed
            before, and a `RequestError` if the decisions or the tools do not fit the
            pause, which then can be resumed still.

        Raises:
            ConfigurationError: If the agent runs no tools.
            RequestError: If ``snapshot`` is none.
        """
        return self.stream(
            resuming(snapshot, decisions),
            context=context,
            tools=tools,
            options=options,
            advisors=advisors,
        )

    def as_tool(
        self, name: str, description: str, **rules: Unpack[Declared]
    ) -> AnyTool:
        """Make a tool of this agent: the model that calls it writes the prompt.

        Its events are the tool's progress, with the path of both agents; its answer is
        the result.  Its tokens count for the turn that called it, whose end is its end.

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
        return described(self.name, advisors, self._tools, self._model)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {self._model!r})"

    def _effective(
        self, around: tuple[Advisor, ...], *, has_tools: bool
    ) -> tuple[Advisor, ...]:
        advisors = (*around, *self._advisors)
        return with_loop(advisors, self._loop, has_tools=has_tools)

    def _fold(self, around: tuple[Advisor, ...], *, has_tools: bool) -> Exchange:
        return chain(self._effective(around, has_tools=has_tools), self._model)

    def _asked(
        self, prompt: Prompt, **call: Unpack[CallOptions]
    ) -> tuple[ChatRequest, tuple[Advisor, ...]]:
        """The request, and the advisors around the agent's own."""
        request = asked(prompt)
        messages = request.messages
        if self._system and not any(isinstance(m, SystemMessage) for m in messages):
            messages = (SystemMessage.of(self._system), *messages)
        tools = listed("tools", call.get("tools", ()))
        all_tools = (*self._tools, *request.tools, *tools)
        tool_index(all_tools)
        options = self._options.merged(request.options)
        request = replace(
            request,
            messages=messages,
            tools=all_tools,
            options=options.merged(given(call.get("options"))),
            context=self._context | request.context | (call.get("context") or {}),
        )
        around = listed("advisors", call.get("advisors", ()))
        if RESUME in request.context and not loop_owners(
            self._effective(around, has_tools=bool(all_tools))
        ):
            raise ConfigurationError(
                f"agent {self.name!r} runs no tools, so it has no turn to resume"
            )
        return request, around
