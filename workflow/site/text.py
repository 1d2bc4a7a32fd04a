"""Small texts on their way to a page: the Markdown tables that this project writes, mathematics in
titles, sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup, escape

from workflow.judge.render import unquoted

SYMBOLS = {r"\lambda": "λ", r"\bar q": "q̄", r"\beta": "β", r"\mu": "µ"}
RAISED = str.maketrans("-0123456789tx", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᵗˣ")
CELL = re.compile(r"((?:\\.|[^|\\])*)\|")  # up to a pipe that no backslash escapes
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-?∞|-")


@dataclass(frozen=True)
class Sheet:
    """A table as it was written to a Markdown file: heading, columns, rows, and the paragraphs and
    points around it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers alone."""
        return [
            all(NUMBER.fullmatch(row[i]) for row in self.rows) for i in range(len(self.columns))
        ]


def sheet(markdown: str) -> Sheet:
    """Read back a table that `render.table` wrote, with its texts as they were quoted."""
    lines = [line for line in markdown.splitlines() if line.strip()]
    table = [_cells(line) for line in lines if line.startswith("|")]
    others = [line for line in lines if not line.startswith("|")]
    title = next((unquoted(line.lstrip("# ")) for line in others if line.startswith("#")), "")
    notes = [unquoted(line.removeprefix("* ")) for line in others if not line.startswith("#")]
    return Sheet(title, table[0] if table else [], table[2:], notes)


def _cells(line: str) -> list[str]:
    parts = CELL.findall(line.strip().removeprefix("|"))
    return [unquoted(part.strip()) for part in parts]


def mathematics(text: str) -> str:
    r"""A title with `$\lambda = 10^{-4}$` in it, in plain letters."""
    return re.sub(r"\$([^$]*)\$", lambda found: _plain(found[1]), text)


def _plain(formula: str) -> str:
    for name, symbol in SYMBOLS.items():
        formula = formula.replace(name, symbol)
    formula = re.sub(r"\^\{?([-\dtx]+)\}?", lambda found: found[1].translate(RAISED), formula)
    return re.sub(r"_\{([^}]*)\}", r"_\1", formula)


def inline(text: str) -> Markup:
    """A sentence with `code`, *emphasis* and **weight** of Markdown."""
    safe = str(escape(mathematics(text)))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return Markup(re.sub(r"(?<![\w*])\*([^* ][^*]*)\*(?![\w*])", r"<em>\1</em>", safe))
