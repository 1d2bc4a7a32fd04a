"""A guest: a method of somebody's own in a figure of a paper whose YAML does not name it.

The guest's runs are expanded from the paper's document with one more algorithm and the runs of it
that the figure needs, and put beside the paper's own plan, with the guest's curve in the figure.
All this is made in memory; runs, digests, drawing and judging know no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from workflow.plan import digest as code
from workflow.plan import parameters, reader, resolve, strict_yaml
from workflow.plan.cells import Paper
from workflow.plan.exhibits import REGISTRY
from workflow.plan.expand import expanded
from workflow.plan.nearest import or_nearest
from workflow.plan.reader import Document
from workflow.plan.resolve import ROOT
from workflow.plan.selection import panel_options, places
from workflow.plan.vocabulary import NEVER_NAMES
from workflow.trace.cells import DEFAULT, RESERVED, Cell, PlanError

SCALE = "paper"  # at which a method is compared: budgets are the published ones
SEEDS = 5  # of the guest, at most: the first ones that the paper plans
REPORTED = ("best_feasible_iterate", "best_feasible_by_iteration")  # read what optimizers report
NEITHER = ("batch_size", "batches", "centre_distance", *REPORTED)  # say not who is better
DOMAINS = {"Box": "points of the unit cube", "Arms": "rows of a table"}
HIGHER = ("feasible_evaluations", "basin")  # the metrics of which more is better
BUILD = Path("build", "compare")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Guest:
    """A method: the name of its curve, `module.Class`, the values of its constructor's parameters,
    and where these stand.
    """

    name: str
    target: str
    parameters: Mapping[str, Any]
    file: str


@dataclass(frozen=True)
class Overlaid(Document):
    """A paper's document with a guest, of which mistakes are told where its parameters stand."""

    guest: Guest | None = None

    def where(self, *path: str | int) -> str:
        """As errors begin."""
        if self.guest is not None and path[:2] == ("algorithms", self.guest.name):
            return self.guest.file
        return super().where(*path)


@dataclass(frozen=True)
class Visit:
    """A guest in a figure of a paper: the plan with it, and what of the figure is not compared, in
    words.
    """

    guest: Guest
    figure: str
    paper: Paper
    left: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.paper.name}/{self.figure}"

    @property
    def folder(self) -> Path:
        """Where everything about the comparison is written."""
        return BUILD / f"{self.paper.name}-{self.figure}-{self.guest.name}"

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The guest's runs that the figure shows, once each."""
        drawn = [
            cell for panel in panel_options(self.paper, self.figure) for cell in self.mine(panel)
        ]
        return tuple({cell.name: cell for cell in drawn}.values())

    def mine(self, panel: Line) -> list[Cell]:
        """The guest's runs in a panel."""
        return [cell for _, cell in places(self.paper, panel) if self.is_mine(cell)]

    def is_mine(self, cell: Cell) -> bool:
        return cell.algorithm == self.guest.name

    @cached_property
    def alone(self) -> Paper:
        """The plan of the guest's runs and of nothing else."""
        names = {cell.name for cell in self.cells}
        aliases = {place: cell for place, cell in self.paper.aliases.items() if cell.name in names}
        return replace(self.paper, cells=self.cells, aliases=aliases, studies={})


def visit(method: str, wish: str, file: Path | None = None, root: Path = ROOT) -> Visit:
    """A method of algorithms/ in the figure `PAPER/FIGURE`, with the parameters of a file, by
    default of algorithms/<method>.yaml.

    Raises PlanError.
    """
    document, line = _figure(wish, root)
    module, target = _target(method, root)
    _check_code(module, root)
    name = method if "." in method else module
    taken = {known.casefold() for known in (*document.entry["algorithms"], *NEVER_NAMES)}
    if name.casefold() in taken:  # a folder of that name is another curve's
        name += "-guest"
    guest = Guest(name, target, *_parameters(module, target, file, root))
    panels, left = _compared(line)
    if not panels:
        raise PlanError(
            f"{wish}: expected a figure that shows how good methods are, got one of"
            f" {', '.join(dict.fromkeys(left))} alone"
        )
    panels, others = _fitting(document, line, panels, target, root)
    if not panels:
        raise PlanError(f"{wish}: {_unfit(others, target, root)}")
    left += [f"{problem}, a problem on {kind}" for problem, kind in others.items()]
    before = expanded(document, SCALE, root=root)
    own = _alone(document, before, [{**line, **panel} for panel in panels], guest, root)
    paper = replace(
        before,
        entry=_with_guest(before.entry, line, panels, guest),
        cells=(*before.cells, *own.cells),
        aliases={**before.aliases, **own.aliases},
        reached=before.reached | own.reached,
    )
    return Visit(guest, line["id"], paper, tuple(dict.fromkeys(left)))


def _figure(wish: str, root: Path) -> tuple[Document, Line]:
    """The document of a paper and the line of its figure. Raises PlanError."""
    name, _, figure = wish.partition("/")
    if not name or not figure:
        raise PlanError(f"expected PAPER/FIGURE such as go_ucb/fig2, got {wish!r}")
    document = reader.document(name, root)
    entry = document.entry
    lines = {
        line["id"]: line
        for line in entry.get("figures", [])
        if SCALE in line.get("scales", [SCALE])
    }
    if figure in lines:
        return document, lines[figure]
    for section in REGISTRY:
        if figure in [line["id"] for line in entry.get(section, [])]:
            what = (
                f"{section}, no figure" if section != "figures" else f"no figure of scale {SCALE}"
            )
            raise PlanError(f"{name}/{figure}: it is {what}; known: {', '.join(lines) or 'none'}")
    raise PlanError(f"papers/{name}.yaml: unknown figure {figure!r}{or_nearest(figure, lines)}")


def _compared(line: Line) -> tuple[list[Line], list[str]]:
    """The panels in which a guest can be compared, and what the others show."""
    panels, left = list[Line](), list[str]()
    for panel in line["panels"]:
        metric = panel.get("metric", line.get("metric", ""))
        if "study" in {**line, **panel}:
            left.append("columns of studies, which are no runs")
        elif metric in NEITHER or metric.startswith("report."):
            left.append(f"{metric}, which says of no method how good it is")
        else:
            panels.append(panel)
    return panels, left


def _fitting(
    document: Document, line: Line, panels: Sequence[Line], target: str, root: Path
) -> tuple[list[Line], dict[str, str]]:
    """The panels whose problems are on a domain on which a method works, and the domain of the
    problem of each other one. Where either cannot be read, the run itself tells.
    """
    own, kept, others = _known_domains(target, root), list[Line](), dict[str, str]()
    for panel in panels:
        problem = {**line, **panel}.get("problem", "")
        theirs = _domains_on(document, problem, root)
        if own and theirs and own.isdisjoint(theirs):
            others[problem] = min(theirs)
        else:
            kept.append(panel)
    return kept, others


def _known_domains(target: str, root: Path) -> set[str]:
    """The domains on which a method works, nothing where they cannot be read."""
    try:
        found = code.domains_of(target, root=root)
    except LookupError:
        return set()
    return found if found <= set(DOMAINS) else set()


def _domains_on(document: Document, problem: str, root: Path) -> set[str]:
    """The domains of the problems of the file that has a problem, nothing where there is none."""
    entry = document.entry["problems"].get(problem.partition("@")[0])
    return code.domains_of_problems(entry["is"], root=root) & set(DOMAINS) if entry else set()


def _unfit(others: Mapping[str, str], target: str, root: Path) -> str:
    """Why a method cannot be compared on the domains of some problems, and in which figures it can
    be.
    """
    module, _, name = target.partition(".")
    wanted = " or ".join(f"{kind} ({DOMAINS[kind]})" for kind in sorted(set(others.values())))
    got = " and ".join(f"{kind} ({DOMAINS[kind]})" for kind in _known_domains(target, root))
    figures = "; ".join(
        f"{paper}/{', '.join(names)}"
        for paper in resolve.planned(root)
        if (names := _figures_for(paper, target, root))
    )
    return (
        f"expected a method that works on {wanted}, got {name} of algorithms/{module}.py, whose"
        f" `domains` are {got}: choose a figure in which it can be compared: {figures or 'none'}"
    )


def _figures_for(paper: str, target: str, root: Path) -> list[str]:
    """The figures of a paper that have a panel in which a method can be compared."""
    document = reader.document(paper, root)
    lines = [
        line for line in document.entry.get("figures", []) if SCALE in line.get("scales", [SCALE])
    ]
    return [
        line["id"]
        for line in lines
        if _fitting(document, line, _compared(line)[0], target, root)[0]
    ]


def _target(method: str, root: Path) -> tuple[str, str]:
    """The module of algorithms/ and `module.Class` that a user means: my_method,
    my_method.MyMethod, or algorithms/my_method.py. Raises PlanError.
    """
    said = method.removeprefix("algorithms/").removesuffix(".py")
    module, _, wanted = said.partition(".")
    folder = root / "algorithms"
    known = sorted(
        path.stem for path in folder.glob("*.py") if path.stem != "api" and path.stem[0] != "_"
    )
    if module not in known:
        hint = " (copy it under a name of yours)" if module == "_template" else ""
        raise PlanError(
            f"METHOD: expected a file of algorithms/, got {method!r}{hint}"
            f"{or_nearest(module, known)}"
        )
    file = f"algorithms/{module}.py"
    found = _optimizers(_tree(folder / f"{module}.py", file))
    if wanted and wanted not in found:
        raise PlanError(
            f"{file}: expected a class {wanted} that inherits from algorithms.api.Optimizer, got"
            f" none{or_nearest(wanted, found)}"
        )
    if not wanted and len(found) != 1:
        got = ", ".join(found) or "none"
        choose = f": say METHOD={module}.{found[0]}, or another" if found else ""
        raise PlanError(
            f"{file}: expected one class that inherits from algorithms.api.Optimizer, got"
            f" {got}{choose}"
        )
    return module, f"{module}.{wanted or found[0]}"


def _tree(path: Path, file: str) -> ast.Module:
    """Raises PlanError where a file is no Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"), file)
    except SyntaxError as error:
        raise _no_python(error, file) from None
    except ValueError as error:  # no UTF-8, or a null byte
        raise PlanError(f"{file} is no valid Python: {error}") from None


def _no_python(error: SyntaxError, file: str) -> PlanError:
    return PlanError(f"{file}, line {error.lineno}: it is no valid Python: {error.msg}")


def _optimizers(tree: ast.Module) -> list[str]:
    """The classes of a file that inherit from Optimizer, directly or through one another."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            if {"Optimizer", *found} & set(bases):
                found.append(node.name)
    return found


def _parameters(
    module: str, target: str, file: Path | None, root: Path
) -> tuple[dict[str, Any], str]:
    """The values that a file gives to a constructor, and how mistakes in them begin.

    Raises PlanError.
    """
    path = root / "algorithms" / f"{module}.yaml" if file is None else file
    said = f"algorithms/{module}.yaml" if file is None else str(file)
    if file is None and not path.exists():
        return {}, f"{said} (there is no such file)"
    try:
        values, _ = strict_yaml.load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PlanError(f"{said} is no valid YAML: {error}") from None
    except RecursionError:
        raise PlanError(f"{said} is no valid YAML: brackets are nested too deep") from None
    except OSError as error:
        raise PlanError(f"PARAMETERS: expected a file, got {said}: {error.strerror}") from None
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise PlanError(f"{said}: expected lines such as `step: 0.2`, got {values!r}")
    known = parameters.names(resolve.accepted(target, "algorithms", said, root))[1]
    for name in parameters.flat(values, known):
        if name in RESERVED or name not in known:
            raise PlanError(
                f"{said}: unknown parameter {name!r} of {target}{or_nearest(name, sorted(known))}"
            )
    return values, said


def _alone(
    document: Document, before: Paper, panels: Sequence[Line], guest: Guest, root: Path
) -> Paper:
    """The plan of the guest's runs in some panels, each as long as the longest of the curves on its
    problem. Raises PlanError.
    """
    budgets = dict[str, int]()
    for panel in panels:
        for _, cell in places(before, panel):
            budgets[cell.problem] = max(cell.budget, budgets.get(cell.problem, 0))
    entry = {
        **document.entry,
        "algorithms": {**document.entry["algorithms"], guest.name: _algorithm(guest)},
        "runs": [run for panel in panels for run in _runs(panel, guest, budgets)],
    }
    return expanded(
        Overlaid(document.name, entry, document.source, document.lenders, guest), SCALE, root=root
    )


def _algorithm(guest: Guest) -> dict[str, Any]:
    """The guest's line among the algorithms."""
    return {"is": guest.target, **guest.parameters, "seeds": SEEDS}


def _with_guest(entry: Line, line: Line, panels: Sequence[Line], guest: Guest) -> dict[str, Any]:
    """What the YAML says, with a guest as an algorithm and in the panels of a figure."""
    shown = {
        **_joined(line, guest),
        "title": f"{line.get('title', line['id'])} · {_not_theirs(guest)}",
        "note": " · ".join(filter(None, [_not_theirs(guest), line.get("note", "")])),
        "panels": [_joined(panel, guest) for panel in panels],
    }
    return {
        **entry,
        "algorithms": {**entry["algorithms"], guest.name: _algorithm(guest)},
        "figures": [shown if one["id"] == line["id"] else one for one in entry["figures"]],
    }


def _not_theirs(guest: Guest) -> str:
    return f"{guest.name}: your method, not in the paper"


def _joined(drawing: Line, guest: Guest) -> dict[str, Any]:
    """A figure or a panel whose list of curves, if it has one, has the guest's at its end."""
    more = {"curves": [*drawing["curves"], guest.name]} if "curves" in drawing else {}
    return {**drawing, **more}


def _runs(panel: Line, guest: Guest, budgets: Mapping[str, int]) -> list[Line]:
    """The `runs:` lines of the guest's runs in a panel."""
    problem, _, own = panel["problem"].partition("@")
    named = dict.fromkeys([own, panel.get("reading", DEFAULT), *panel.get("readings", [])])
    readings = [name for name in named if name not in (DEFAULT, "default")]
    if problem not in budgets:  # this scale leaves out all other curves
        return []
    plain: dict[str, Any] = {
        "problems": [problem],
        "algorithms": [guest.name],
        "scales": [SCALE],
        "budget": budgets[problem],
    }
    if "variant" in panel:
        plain["variants"] = [panel["variant"]]
    usual = [plain] if not readings or "readings" in panel else []
    return usual + ([{**plain, "readings": readings}] if readings else [])


def _check_code(module: str, root: Path) -> None:
    """Refuse a method that imports what cannot be read: its digest could not be computed.

    Raises PlanError.
    """
    try:
        code.digest([f"algorithms.{module}"], {}, root=root)
    except SyntaxError as error:
        raise _no_python(error, _relative(error.filename, root)) from None
    except LookupError as error:
        raise PlanError(f"algorithms/{module}.py: {error.args[0]}") from None


def _relative(file: str | None, root: Path) -> str:
    path = Path(file or "a file that it imports")
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
