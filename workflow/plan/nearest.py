"""How sentences about an unknown name end: what was probably meant, and what is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Of some names the one that was probably meant, "" if none is near.

    Upper and lower case are one, and of equally near names the first wins.
    """
    by_letters = {each.casefold(): each for each in reversed(list(known))}
    matches = get_close_matches(str(name).casefold(), list(reversed(by_letters)), n=1)
    return by_letters[matches[0]] if matches else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after the nearest known name; nothing where none is near."""
    meant = nearest_name(name, known)
    return f"; did you mean {meant!r}?" if meant else ""


def or_nearest(name: str, known: Collection[str]) -> str:
    """The nearest known name, and all of them."""
    return f"{nearest(name, known) or ';'} known: {', '.join(known) or 'nothing'}"
