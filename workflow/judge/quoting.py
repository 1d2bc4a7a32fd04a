r"""Texts of a paper's YAML within Markdown: shown as they stand, none of them becomes markup.

What could begin a tag, a link, a picture, code, emphasis or a block gets a backslash before it (an
entity its ampersand), and every run of blanks, line ends among them, becomes one blank. What is
harmless stays, so that the file itself can be read: `A < B`, `[0, 1]`, `simple_regret`. A cell's
pipes are the table's own affair (`render.table`). An e-mail address is still a link on GitHub,
which heeds no backslash there; it leads where it says.
"""

from __future__ import annotations

import re

MARKUP = re.compile(
    r"""
    \\(?=[!-/:-@\[-`{-~]|$)             # a backslash that would escape what follows
    | [`*~]                             # code, emphasis, what is struck out
    | \](?=\() | ^\[ | \[(?=\^)         # links, pictures, definitions of them, footnotes
    | <(?=[A-Za-z/!?])                  # tags, comments, addresses
    | (?<![^\W_])_ | _(?![^\W_])        # emphasis, but for _ within a word
    | :(?=//)                           # addresses that become links by themselves
    | (?<=www)\.
    | ^(?:\#|>|[-+](?=[ -])|=)          # what begins a block, but for a dash alone in a cell
    """,
    re.VERBOSE | re.IGNORECASE,
)
NUMBERED = re.compile(r"^(\d+)([.)])(?= |$)")  # begins a list
ENTITY = re.compile(r"&(?=#?\w+;)")
BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")


def quoted(text: object) -> str:
    """A text for one line of Markdown, or one cell of a table, that is shown as it is."""
    line = " ".join(str(text).split())
    line = MARKUP.sub(lambda found: f"\\{found[0]}", line)
    line = NUMBERED.sub(r"\1\\\2", line)
    return ENTITY.sub("&amp;", line)


def unquoted(markdown: str) -> str:
    """The text that was quoted, with its runs of blanks as one."""
    return re.sub(r"&amp;(?=#?\w+;)", "&", BACKSLASH.sub(r"\1", markdown))
