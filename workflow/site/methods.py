"""The page of an algorithm: its source, what the source cites, its parameters, where it is used,
and how fast it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pygments import highlight
from pygments.filter import Filter, simplefilter
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import PythonLexer
from pygments.style import Style
from pygments.token import Token

from workflow.judge import render
from workflow.plan import costs
from workflow.plan.parameters import flat, parameters_of
from workflow.plan.resolve import ROOT
from workflow.site.folder import Report

CITED = re.compile(
    r"#.*?(?:\b(?:eqs?\.|Alg\.|Algorithm|Thms?\.|Theorem|Lemmas?|App\.|Sec\.|Cor\.|Def\.|Prop\.)\s?|eq\."
    r" ?\()"
)
NO_PAGE = ("api",)
COLOURS = "xcode"  # of source


@dataclass(frozen=True)
class Use:
    """One name in the legend of a paper, with the values that the paper gives its parameters."""

    paper: str
    name: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Speed:
    """Measured CPU seconds of one seed."""

    paper: str
    problem: str
    curve: str
    seconds: float
    evaluations: int


@dataclass(frozen=True)
class Algorithm:
    """One file of algorithms/."""

    name: str
    about: str
    classes: Sequence[str]
    source: Markup
    cited: Sequence[tuple[int, str]]
    uses: Sequence[Use]
    speeds: Sequence[Speed]

    @property
    def parameters(self) -> list[str]:
        """All parameters that any paper names, in the order of the first."""
        return list(dict.fromkeys(name for use in self.uses for name in use.values))

    @property
    def headline(self) -> str:
        """The first sentence of what is said about it, without the keys of what it cites."""
        first = re.split(r"(?<=[.:])\s", " ".join(self.about.split("\n\n")[0].split()))[0]
        return re.sub(r" \([^()]*\b[a-z]+\d{4}[a-z]*\b[^()]*\)", "", first).rstrip(":")


def algorithms(reports: Sequence[Report], root: Path = ROOT) -> list[Algorithm]:
    """A page for each file of algorithms/."""
    files = [
        path
        for path in sorted((root / "algorithms").glob("*.py"))
        if path.stem not in NO_PAGE and not path.stem.startswith("_")  # no method, a template
    ]
    return [_algorithm(path, reports, root) for path in files]


def styles() -> str:
    """The colours of highlighted source."""
    return str(HtmlFormatter(style=COLOURS).get_style_defs(".source"))


def _algorithm(path: Path, reports: Sequence[Report], root: Path) -> Algorithm:
    code = path.read_text(encoding="utf-8")
    tree = ast.parse(code)
    classes = [
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and _is_optimizer(node)
    ]
    # an element of its own for each line, which links may lead to, and for each coloured token
    form = HtmlFormatter(style=COLOURS, linenos="inline", linespans="line", wrapcode=True)
    lexer = PythonLexer()
    lexer.add_filter(_coloured(form.style))
    uses = [use for report in reports for use in _uses(path.stem, report, root)]
    return Algorithm(
        name=path.stem,
        about=ast.get_docstring(tree) or "",
        classes=classes,
        source=Markup(highlight(code, lexer, form)),  # escapes what it highlights
        cited=list(_cited(code)),
        uses=uses,
        speeds=[
            speed
            for report in reports
            for speed in _speeds(report, {use.name for use in uses if use.paper == report.name})
        ],
    )


def _coloured(style: type[Style]) -> Filter:
    """Makes plain text of the tokens that a style shows as such, half of a page's bytes."""
    plain = (style.style_for_token(Token), style.style_for_token(Token.Name))

    @simplefilter
    def coloured(
        _self: Filter, _lexer: Lexer, stream: Iterable[tuple[Any, str]], _options: object
    ) -> Iterator[tuple[Any, str]]:
        for kind, value in stream:
            yield (Token.Text if style.style_for_token(kind) in plain else kind), value

    return coloured()


def _is_optimizer(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Optimizer" for base in node.bases)


def _cited(code: str) -> Iterable[tuple[int, str]]:
    """(line, comment) of the comments at the ends of lines that cite a place in a paper."""
    for number, line in enumerate(code.splitlines(), 1):
        head, mark, comment = line.partition("  # ")
        if mark and head.strip() and CITED.search(f"# {comment}"):
            yield number, comment.strip()


def _uses(module: str, report: Report, root: Path) -> Iterable[Use]:
    for name, entry in report.entry["algorithms"].items():
        if entry["is"].split(".")[0] == module:
            yield Use(
                report.name,
                name,
                {key: in_a_line(value) for key, value in _values(entry, root) if key != "is"},
            )


def _values(entry: Mapping[str, Any], root: Path) -> Iterable[tuple[str, Any]]:
    """What an entry says of parameters, fields of groups by their dotted names.

    A report may be older than the code: where the method is gone, its groups stay together.
    """
    try:
        known = parameters_of(entry["is"], "algorithms", root=root)[1]
    except LookupError:
        known = set()
    return flat(entry, known).items()


def in_a_line(value: Any) -> str:
    """A value of a paper's YAML in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {in_a_line(part)}" for key, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(in_a_line, value))}]"
    return render.number(value) if isinstance(value, float) else str(value)


def _speeds(report: Report, names: set[str]) -> Iterable[Speed]:
    """What the table of measured costs says of the default curves of some names."""
    for line in costs.table():
        is_known = line.problem.partition("@")[0] in report.entry["problems"]
        if line.paper == report.name and is_known and line.curve in names:
            yield Speed(*line[:3], line.seconds, line.evaluations)
