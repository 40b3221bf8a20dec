"""Token counts of one answer of Anthropic."""

from __future__ import annotations

from rxagent.usage import Usage
from rxagent.wire.json_text import is_object

__all__ = ["UsageCounter"]

_NAMES = {
    "input_tokens": "input_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
}


class UsageCounter:
    """Collect the reports of one answer: each is a total, and none is to be added.

    The first comes with the start of a message, further ones with its end.  A later one
    may leave out what has not changed, and some servers send zeros there.  Zeros alone
    are what a server sends that does not count.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    @property
    def has_reports(self) -> bool:
        """Whether anything has been reported."""
        return bool(self._counts)

    def report(self, usage: object) -> None:
        """Take a ``usage`` object of the wire."""
        if not is_object(usage):
            return
        for wire_name, name in _NAMES.items():
            self._count(name, usage.get(wire_name))
        if is_object(details := usage.get("output_tokens_details")):
            self._count("reasoning_tokens", details.get("thinking_tokens"))

    def usage(self) -> Usage:
        """Return the usage of the whole answer."""
        counts = self._counts if any(self._counts.values()) else {}
        return Usage(
            input_tokens=counts.get("input_tokens"),
            cache_read_tokens=counts.get("cache_read_tokens"),
            cache_write_tokens=counts.get("cache_write_tokens"),
            output_tokens=counts.get("output_tokens"),
            reasoning_tokens=counts.get("reasoning_tokens"),
            requests=1,
            basis="declared" if counts else None,
            sure=counts.keys() >= {"input_tokens", "output_tokens"},
        )

    def _count(self, name: str, count: object) -> None:
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            self._counts[name] = max(count, self._counts.get(name, 0))
