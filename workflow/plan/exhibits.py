"""The registry of exhibits: what a report shows beside its verdicts.

One entry says everything about a kind: where it stands in the YAML, the model of a line, which runs
it reads, which files it makes, which program draws it, and how the site shows it. A new kind is an
entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from workflow.plan import lines, selection
from workflow.plan.lines import ExhibitLine, PictureLine
from workflow.plan.paper import Paper
from workflow.trace.curves import AnyCurve, PlanError

Entry = Mapping[str, Any]  # of a paper's YAML
Runs = Sequence[AnyCurve]
REGISTRY: dict[str, Exhibit] = {}  # by section
# other files of the folder of a report
LEDGER = (
    *("verdicts.md", "verdicts.json", "verdicts.parquet", "verdicts.csv"),
    *("seeds.parquet", "runs.parquet", "claims-by-settings.md", "claims-by-settings.png"),
)


@dataclass(frozen=True)
class Exhibit:
    """A kind of thing that a report shows."""

    section: str  # of the YAML
    one: str  # a line of it, for people; the wildcard of its rule
    says: str  # what it is, on the reference page
    line: Any  # the type of a line
    program: str  # the module of workflow/ that draws it
    ends: tuple[str, ...]  # of the files that its program makes
    # made before a line is drawn, none where a scale leaves out all of it; may raise PlanError
    runs: Callable[[Paper, str], Runs]
    is_optional: bool = False  # whether a report may lack it where nothing was run
    has_print: bool = False  # whether its program draws a PDF, too, where that is asked for
    reads_all: bool = False  # whether the whole YAML decides what is drawn, not a line alone

    @property
    def shown(self) -> tuple[str, ...]:
        """The endings of what the site shows; every line has a file with the first one."""
        return tuple(end for end in self.ends if end != "csv")

    @cached_property
    def read(self) -> Callable[[Entry], ExhibitLine]:
        """What makes the model of a line of the YAML."""
        return TypeAdapter(self.line).validate_python

    def endings(self, line: ExhibitLine) -> tuple[str, ...]:
        """Of the files that its program makes of a line: a GIF of what moves."""
        moves = isinstance(line, PictureLine) and line.moves
        return tuple(end for end in self.ends if end != "gif" or moves)

    def modules(self, line: ExhibitLine) -> list[str]:
        """The modules that decide what is drawn: the program, and a drawer that a line names."""
        modules = [f"workflow.{self.program}"]
        if isinstance(line, PictureLine):
            modules.append(f"workflow.draw.drawers.{line.is_.partition('.')[0]}")
        return modules

    def parameters(self, paper: Paper, name: str) -> Entry:
        """What of the YAML decides what is drawn, as it stands there."""
        own = selection.entry_of(paper, self.section, name)
        return {"entry": paper.entry if self.reads_all else own}

    def files(self, line: ExhibitLine) -> list[str]:
        """The names of the files that its program makes."""
        return [f"{line.id}.{ending}" for ending in self.endings(line)]

    def find(self, paper: Paper, name: str) -> ExhibitLine:
        """The line of a name. Raises PlanError naming what is known."""
        return self.read(selection.entry_of(paper, self.section, name))


def lines_of(entry: Entry) -> list[tuple[Exhibit, ExhibitLine]]:
    """Every line of a paper's YAML that is an exhibit, with its kind."""
    sections = [(kind, entry.get(kind.section, [])) for kind in REGISTRY.values()]
    return [(kind, kind.read(line)) for kind, section in sections for line in section]


def kinds_of_exhibits(papers: Iterable[Paper]) -> list[tuple[Exhibit, tuple[str, ...], list[str]]]:
    """Each kind of exhibit by the endings of its files, with `paper/name` of those that have them:
    what is drawn by one rule.
    """
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for paper in papers:
        for kind, line in lines_of(paper.entry):
            place = kind.section, kind.endings(line)
            grouped.setdefault(place, []).append(f"{paper.name}/{line.id}")
    return [(REGISTRY[section], ends, names) for (section, ends), names in grouped.items()]


def offered(paper: Paper) -> dict[str, Any]:
    """The entry of a paper without the exhibits of other scales, and without those of which its
    scale leaves out everything.
    """
    kept = {
        section: [line for line in paper.entry[section] if _is_offered(kind, paper, line)]
        for section, kind in REGISTRY.items()
        if section in paper.entry
    }
    return {**paper.entry, **kept}


def _is_offered(kind: Exhibit, paper: Paper, entry: Entry) -> bool:
    line = kind.read(entry)
    if line.scales and paper.scale not in line.scales:
        return False
    try:
        return isinstance(line, selection.WITHOUT_RUNS) or bool(kind.runs(paper, line.id))
    except PlanError:
        return True  # a mistake in it is left to whoever draws it


KINDS = (
    Exhibit(
        section="figures",
        one="figure",
        says="panels with curves, dots or columns of studies",
        line=lines.FigureLine,
        program="draw.plots",
        ends=("png", "csv", "json"),
        has_print=True,
        runs=selection.figure_runs,
    ),
    Exhibit(
        section="ranks",
        one="ranks",
        says="mean ranks over problems",
        line=lines.RanksLine,
        program="draw.ranks",
        ends=("png", "csv"),
        has_print=True,
        runs=selection.rank_runs,
        is_optional=True,
    ),
    Exhibit(
        section="profiles",
        one="profile",
        says="the share of targets that algorithms reach, over several problems",
        line=lines.ProfilesLine,
        program="draw.profiles",
        ends=("png", "csv", "json"),
        has_print=True,
        runs=selection.profile_runs,
        is_optional=True,
    ),
    Exhibit(
        section="pictures",
        one="picture",
        says="the best design found, drawn by a function of its own",
        line=lines.PictureLine,
        program="draw.picture",
        ends=("png", "gif"),
        runs=selection.picture_curves,
        is_optional=True,
    ),
    Exhibit(
        section="tables",
        one="table",
        says="rows of numbers",
        line=lines.AnyTable,
        program="draw.tabulate",
        ends=("csv", "md"),
        runs=selection.tabulated_runs,
        reads_all=True,
    ),
)
REGISTRY.update((kind.section, kind) for kind in KINDS)
