"""Libraries that one method alone loads, and what is said where they are not installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def imported(library: str, method: str) -> ModuleType:
    """A library of the extra `today`. Raises ImportError, which says how to get it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"{method} is that of {library}, which is not installed:"
            " pip install 'noregret-bo[today]'"
        ) from missing
