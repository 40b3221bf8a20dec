from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rxagent.wire import OpenAIChatDialect

__all__ = ["Vendor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """Who serves OpenAI's chat completions: where, behind which key, how strictly.

    `VENDORS` holds those that are known.  Another one, or one with other settings, is
    made by ``dataclasses.replace``.

    Args:
        title: As the vendor writes itself.
        base_url: Of its server; empty if every customer has an own one.
        base_url_variable: Of the environment, for another address.
        base_url_path: What follows the address in that variable, unless it is there
            already: some vendors' own clients take it without.
        key_variables: Of the environment; the first that is set counts.
        needs_key: Whether the vendor's own server wants one.
        headers: Sent with each request; ``{key}`` stands for the key.
        path: Appended to the base URL; may hold a query.
        dialect: How it strays from the format; its name is the vendor's.
    """

    title: str
    base_url: str = ""
    base_url_variable: str
    base_url_path: str = ""
    key_variables: tuple[str, ...]
    needs_key: bool = True
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"authorization": "Bearer {key}"}
    )
    path: str = "/chat/completions"
    dialect: OpenAIChatDialect
