"""Cases about structured answers: a scripted model, and what it is asked again."""

from __future__ import annotations

from typing import Any

from reactivex import operators as ops

from rxagent import Agent, Flow
from rxagent.advisors import memory
from rxagent.chain import after
from rxagent.entities import Partial
from rxagent.errors import RxAgentError
from rxagent.events import ChatEvent, Finished
from rxagent.memory import CONVERSATION_ID, Conversation, MemoryStore
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel
from rxagent.usage import Usage
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.matchers import check, matches
from tests.cases.memories import neutral
from tests.cases.words import check_error

__all__ = ["check_validation"]

_KNOWN = {
    "value",
    "error",
    "requests_total",
    "request_1_contains",
    "last_request_max_chars",
    "stored",
    "usage_total",
    "items_of_failed_attempt_as_final",
}


def check_validation(case: Case, cutting: Cutting) -> None:
    """Ask for an entity, whole and growing, and look at what was sent."""
    del cutting
    expect = case.expect
    if unknown := expect.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    replies = [_reply(each) for each in case.given["replies"]]
    settings = {"max_retries": case.given.get("max_retries", 3)}
    model = ScriptedModel(*replies, repeat_last=True)
    ended: list[ChatResponse] = []

    def heard(event: ChatEvent) -> None:
        if isinstance(event, Finished):
            ended.append(event.response)

    store = MemoryStore()
    agent = Agent(model, advisors=[after(ops.do_action(heard)), memory(store)])
    context = {CONVERSATION_ID.name: "case"}
    found: Any = None
    error: RxAgentError | None = None
    try:
        found = agent.entity(
            case.given["schema"], "go", context=context, **settings
        ).run()
    except RxAgentError as raised:
        error = raised
    if "value" in expect:
        check(expect["value"], found, "$.value")
    check_error(expect.get("error"), error)
    if "requests_total" in expect:
        check(expect["requests_total"], len(model.requests), "$.requests_total")
    texts = [
        "\n".join(message.text for message in request.messages)
        for request in model.requests
    ]
    wanted = expect.get("request_1_contains", [])
    for part in [wanted] if isinstance(wanted, str | dict) else wanted:
        assert matches({"$contains": part} if isinstance(part, str) else part, texts[1])
    if "last_request_max_chars" in expect:
        assert len(texts[-1]) <= expect["last_request_max_chars"]
    if "usage_total" in expect:
        usage = ended[0].usage if ended else error and error.usage
        check(expect["usage_total"], _words(usage or Usage()), "$.usage_total")
    if "stored" in expect:
        kept = Flow[Conversation].of(store.load("case")).run()
        stored = [neutral(each) for each in kept.messages]
        check(expect["stored"], stored, "$.stored")
    if expect.get("items_of_failed_attempt_as_final") is False:
        again = Agent(ScriptedModel(*replies, repeat_last=True))
        grown = list(again.partials(case.given["schema"], "go", **settings))
        finals = [each for each in grown if each.entity is not None]
        assert finals == [Partial(value=found, entity=found)]


def _reply(given: Any) -> Reply:
    if isinstance(given, str):
        return Reply(deltas=(given,))
    usage = given.get("usage", {})
    return Reply(
        deltas=(given["text"],) if given.get("text") else (),
        finish_reason=given.get("finish_reason"),
        usage=Usage(
            input_tokens=usage.get("input"),
            output_tokens=usage.get("output"),
            requests=1,
        ),
    )


def _words(usage: Usage) -> Json:
    said = {"input": usage.input_tokens, "output": usage.output_tokens}
    return {**said, "total": sum(count or 0 for count in said.values())}
