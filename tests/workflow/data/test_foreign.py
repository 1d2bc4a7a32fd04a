"""Texts from outside are shown in one line, and nothing in them moves a cursor or hides."""

from __future__ import annotations

import sys
import unicodedata

from workflow.data.foreign import BLANK, escaped, is_plain
from workflow.data.raw_file import Rejected


def test_no_control_format_or_separator_is_plain_and_all_letters_are():
    """Against the categories of Unicode, character by character."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if character == " ":
            assert is_plain(character)
        elif category[0] == "C" or category in ("Zl", "Zp", "Zs"):
            assert not is_plain(character), hex(code)
        else:
            assert is_plain(character) is not bool(BLANK.fullmatch(character)), hex(code)


def test_what_is_not_plain_is_escaped_and_the_rest_stays():
    for text, expected in [
        ("δ-BKB, Größe: 3 µm", "δ-BKB, Größe: 3 µm"),
        ("a\u202egpj.exe", r"a\u202egpj.exe"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("two\r\nlines", r"two\r\nlines"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("half\udc80", r"half\udc80"),
        ("filler\u3164", r"filler\u3164"),
    ]:
        assert escaped(text) == expected and escaped(expected) == expected
        assert is_plain(text) is (text == expected)
        assert str(Rejected(text)) == expected
