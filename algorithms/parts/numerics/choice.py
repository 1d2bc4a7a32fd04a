"""A parameter that names one of several things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def chosen(known: Mapping[str, T], name: str, what: str) -> T:
    """The entry of `known` called `name`. Raises ValueError that lists what there is."""
    if name not in known:
        raise ValueError(f"{what}: expected {' or '.join(known)}, got {name!r}")
    return known[name]
