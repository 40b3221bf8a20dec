"""What the user adds to the body of a request by hand."""

from __future__ import annotations

from collections.abc import Mapping

from rxagent.errors import RequestError
from rxagent.wire.json_text import is_array

__all__ = ["with_extra"]


def with_extra(
    body: Mapping[str, object], extra: Mapping[str, object]
) -> dict[str, object]:
    """Add members, which win; tools stand behind those of the body.

    Args:
        body: As the request makes it.
        extra: Of the options.

    Raises:
        RequestError: If its tools are no list.
    """
    added = dict(extra)
    if "tools" in added:
        further, own = added["tools"], body.get("tools")
        if not is_array(further):
            raise RequestError("the 'tools' of extra must be a list")
        added["tools"] = [*own, *further] if is_array(own) else further
    return {**body, **added}
