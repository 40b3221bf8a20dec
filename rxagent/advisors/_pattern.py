from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    name: str
    regex: re.Pattern[str]
    check: Callable[[str], bool] | None = None
