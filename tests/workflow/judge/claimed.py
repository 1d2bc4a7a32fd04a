"""A claim of a toy paper as its YAML has it: A has less regret than B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LESS = {
    "test": "less",
    "metric": "cumulative_regret",
    "problems": ["p"],
    "left": ["A"],
    "right": ["B"],
}


def claim(check: Mapping[str, Any] = LESS, **more: Any) -> dict[str, Any]:
    """The claim with another check, or with more that it says."""
    line = {"id": "c", "where": "Fig. 1", "says": "A has less regret than B", "check": check}
    return {**line, **more}
