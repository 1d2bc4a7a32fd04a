"""How texts are shown that come from outside, such as answers of servers.

A character that turns the direction of writing, moves the cursor or cannot be seen lets a word
look like another one, and a terminal do what nobody asked for.
"""

from __future__ import annotations

import re

# characters without a picture that Unicode counts among letters, marks and symbols; all others of
# the kind (controls, formats such as U+202E and U+200B, separators) str.isprintable knows
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U000e0100-\U000e01ef]"
)


def is_plain(text: str) -> bool:
    """Whether every character of a text can be seen and none turns the direction of writing."""
    return text.isprintable() and not BLANK.search(text)


def escaped(text: str) -> str:
    """A text in one line with all characters but plain ones as escapes, such as \\u202e."""
    return "".join(each if is_plain(each) else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
