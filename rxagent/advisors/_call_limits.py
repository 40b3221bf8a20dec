"""The limits of one turn: what they are, and which calls they stop."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Literal, TypeAlias

from rxagent.choices import check_choice
from rxagent.errors import AdvisorError, ConfigurationError
from rxagent.messages import ToolCall
from rxagent.responses import Limit
from rxagent.snapshots import Snapshot
from rxagent.tools.rules import check_count, check_seconds
from rxagent.usage import Usage
from rxagent.wire.json_text import load_json

_log = logging.getLogger(__name__)

OnLimit: TypeAlias = Literal["finish", "raise", "tell"]
"""End the turn with what it has, raise, or tell the model, so that it can answer."""

Cost: TypeAlias = Callable[[Usage, str | None], float]
"""What the tokens of an answer cost; gets the model's name, in the provider's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """See `tool_loop`."""

    max_rounds: int | None
    max_calls: int | None
    max_calls_per_tool: int | Mapping[str, int | None] | None
    max_identical_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    cost: Cost | None
    max_seconds: float | None
    on_limit: OnLimit | Mapping[str, OnLimit]

    def __post_init__(self) -> None:
        per_tool = self.max_calls_per_tool
        numbers: list[tuple[str, float | None]] = [
            ("max_rounds", self.max_rounds),
            ("max_calls", self.max_calls),
            ("max_identical_calls", self.max_identical_calls),
            ("max_tokens", self.max_tokens),
        ]
        if isinstance(per_tool, Mapping):
            numbers += [(f"max_calls_per_tool[{n!r}]", v) for n, v in per_tool.items()]
        else:
            numbers.append(("max_calls_per_tool", per_tool))
        for name, number in numbers:
            if number is not None:
                check_count(name, number, least=1)
        check_seconds("max_seconds", self.max_seconds)
        most = self.max_cost
        if most is not None and not (_is_amount(most) and 0 < most < inf):
            raise ConfigurationError(f"max_cost must be more than 0, got {most!r}")
        if (self.max_cost is None) != (self.cost is None):
            raise ConfigurationError(
                "max_cost needs cost=, a function from usage and model to an amount, "
                "and cost needs max_cost"
            )
        if isinstance(self.on_limit, Mapping):
            known = {name for name in self.__slots__ if name.startswith("max_")}
            if unknown := sorted(self.on_limit.keys() - known):
                raise ConfigurationError(
                    f"on_limit names {', '.join(unknown)}; the limits are "
                    f"{', '.join(sorted(known))}"
                )
            for name, reaction in self.on_limit.items():
                check_choice(f"on_limit[{name!r}]", reaction, OnLimit)
        else:
            check_choice("on_limit", self.on_limit, OnLimit)

    def reaction(self, limit: Limit) -> OnLimit:
        """What happens when ``limit`` is reached."""
        if isinstance(self.on_limit, Mapping):
            return self.on_limit.get(limit.name, "finish")
        return self.on_limit


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that was reached.

    Args:
        limit: For the caller, with what to do about it.
        told: For the model.
    """

    limit: Limit
    told: str


class LimitWatch:
    """Counts for one turn.

    Args:
        limits: Of the loop.
        started: When the turn began, by the clock of its stream.
        paused: What was counted before a pause.
    """

    def __init__(
        self, limits: TurnLimits, *, started: datetime, paused: Snapshot | None = None
    ) -> None:
        self._limits = limits
        self._started = started
        self._is_blind = False  # to the tokens of an answer, and that is logged
        self.cost = paused.cost if paused else 0.0
        """What the answers of this turn cost."""
        self.repeated: Counter[str] = Counter(paused.repeated if paused else None)
        """Calls of this turn that ran, by tool and arguments."""
        self.called: Counter[str] = Counter(paused.called if paused else None)
        """Calls of this turn that ran, inner agents' too, by the name of their tool."""

    @property
    def deadline(self) -> datetime | None:
        """When the turn has to end."""
        seconds = self._limits.max_seconds
        return None if seconds is None else self._started + timedelta(seconds=seconds)

    def charge(self, usage: Usage, model: str | None) -> None:
        """Take what an answer has spent; warn once of a limit that cannot hold.

        Raises:
            AdvisorError: If ``cost`` says what is no amount.
        """
        if self._limits.cost is not None:
            cost = self._limits.cost(usage, model)
            if not (_is_amount(cost) and 0 <= cost < inf):
                raise AdvisorError(
                    "tool_loop",
                    f"was told {cost!r} by cost, where an amount was expected",
                )
            self.cost += cost
        if self._limits.max_tokens is None or self._is_blind:
            return
        self._is_blind = usage.total_tokens is None
        if self._is_blind:
            _log.warning(
                "%s says nothing of its tokens, so max_tokens=%d cannot stop the turn "
                "in time; max_rounds and max_seconds can",
                model or "the model",
                self._limits.max_tokens,
            )

    def of_turn(self, *, rounds: int, usage: Usage, now: datetime) -> Breach | None:
        """What leaves no further round; ``None`` if there is room.

        Args:
            rounds: Whose tools have run.
            usage: Of all answers.
            now: By the clock of the stream.
        """
        limits = self._limits
        if limits.max_rounds is not None and rounds >= limits.max_rounds:
            return _breach(
                "max_rounds",
                limits.max_rounds,
                f"{limits.max_rounds} rounds of tools and still no answer",
                "raise max_rounds, or give the model fewer tools",
            )
        spent = usage.total_tokens or 0
        if limits.max_tokens is not None and spent >= limits.max_tokens:
            return _breach(
                "max_tokens",
                limits.max_tokens,
                f"the turn has taken {spent} tokens",
                "raise max_tokens, or shorten the conversation",
            )
        if limits.max_cost is not None and self.cost >= limits.max_cost:
            return _breach(
                "max_cost",
                limits.max_cost,
                f"the turn has cost {self.cost:g}",
                "raise max_cost, or take a cheaper model",
            )
        deadline = self.deadline
        if deadline is not None and now >= deadline:
            assert limits.max_seconds is not None
            return _breach(
                "max_seconds",
                limits.max_seconds,
                f"the turn has taken {(now - self._started).total_seconds():.1f} s",
                "raise max_seconds, or give slow tools a timeout_s",
            )
        return None

    def of_calls(self, calls: Sequence[ToolCall]) -> list[Breach | None]:
        """For each call of a batch the limit that stops it; the others are counted."""
        return [self._of_call(call) for call in calls]

    def _of_call(self, call: ToolCall) -> Breach | None:
        limits, name = self._limits, call.name
        per_tool = limits.max_calls_per_tool
        longest = per_tool.get(name) if isinstance(per_tool, Mapping) else per_tool
        if limits.max_calls is not None and self.called.total() >= limits.max_calls:
            return _breach(
                "max_calls",
                limits.max_calls,
                f"a turn may call tools {limits.max_calls} times",
                "raise max_calls",
            )
        if longest is not None and self.called[name] >= longest:
            return _breach(
                "max_calls_per_tool",
                longest,
                f"a turn may call tool {name!r} {longest} times",
                "raise max_calls_per_tool",
            )
        same_call = f"{name} {_canonical(call.arguments)}"
        most = limits.max_identical_calls
        if most is not None and self.repeated[same_call] >= most:
            return _breach(
                "max_identical_calls",
                most,
                f"a turn may call tool {name!r} {most} times with the same arguments",
                "raise max_identical_calls, or make its result clearer",
            )
        self.called[name] += 1
        self.repeated[same_call] += 1
        return None


def _is_amount(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _breach(name: str, value: float, happened: str, advice: str) -> Breach:
    limit = Limit(name=name, value=value, message=f"stopped: {happened}; {advice}")
    return Breach(limit, f"the call did not run: {happened}; answer with what you have")


def _canonical(arguments: str) -> str:
    """The same text for the same value, however it is written."""
    try:
        return json.dumps(load_json(arguments), sort_keys=True)
    except ValueError:
        return arguments
