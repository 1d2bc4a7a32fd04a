"""Texts that come from outside: names of files in archives, answers of servers. Which names are
plain, and how any text is shown.

A character that turns the direction of writing, moves the cursor or cannot be seen lets a name
look like another one, and a terminal do what nobody asked for.
"""

from __future__ import annotations

import re

MOST = 200  # characters of a name that a message shows
# characters without a picture that Unicode counts among letters, marks and symbols; all others of
# the kind (controls, formats such as U+202E and U+200B, separators) str.isprintable knows
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U000e0100-\U000e01ef]"
)


def is_plain(name: str) -> bool:
    """Whether every character of a name can be seen and none turns the direction of writing."""
    return name.isprintable() and not BLANK.search(name)


def escaped(text: str) -> str:
    """A text in one line with all characters but plain ones as escapes, such as \\u202e."""
    return "".join(each if is_plain(each) else _escape(each) for each in text)


def shown(name: object) -> str:
    """A name for a message: in quotes, escaped, and not longer than a line or two."""
    return escaped(repr(str(name)[:MOST]))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
