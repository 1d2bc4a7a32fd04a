"""Compare a method of your own with a paper's: `python -m workflow.compare METHOD PAPER/FIGURE`,
called by `make compare`.

METHOD is a file of algorithms/ with one class that inherits from Optimizer; its parameters stand in
algorithms/METHOD.yaml. The command writes a comparison, papers/METHOD_at_PAPER_FIGURE.yaml, which
borrows the problems and curves of the figure, adds the method and claims that it is better than
each curve. Snakemake runs the method alone; the figure and the verdicts follow.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from workflow.judge import ledger, render
from workflow.judge.outcomes import CONTRADICTED, REPRODUCED
from workflow.plan import digest, reader
from workflow.plan.expand import load
from workflow.plan.lines import FigureLine, Level
from workflow.plan.nearest import or_nearest
from workflow.plan.paper import Paper
from workflow.plan.resolve import WRITTEN, papers
from workflow.plan.selection import curves_of_panel, line_of, panel_options
from workflow.plan.wishes import check_cores, check_folders
from workflow.trace.curves import Curve, PlanError

SCALE = "paper"  # at which a method is compared: budgets are the published ones
SEEDS = 5  # of the method and of each curve: the first ones that the paper plans
HIGHER = ("feasible_evaluations",)  # the metrics of which more is better
REPORTED = ("best_feasible_iterate", "best_feasible_by_iteration")  # read what optimizers report
NEITHER = ("batch_size", "batches", "centre_distance", *REPORTED)  # say not who is better
# of a panel: what belongs to its figure, and what the names of its curves say already
REPLACED = {"id", "kind", "scales", "where", "note", "panels", "names", "reading", "readings"}
REPLACED |= {"variant", "controls"}
Line = Mapping[str, Any]
Panel = tuple[FigureLine, list[Curve]]  # with the runs of its curves


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        check_folders()
        check_cores(options.cores)
        name = write(options.method, options.figure, options.parameters)
        return _compared(load(name, SCALE), options.cores)
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: what is finished counts; the same command goes on", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m workflow.compare",
        description="Run a method of your own in a paper's figure, draw it beside the published"
        " curves, and judge it against each of them.",
    )
    options.add_argument("method", help="a file of algorithms/, such as my_method")
    options.add_argument("figure", help="PAPER/FIGURE, such as go_ucb/fig2")
    options.add_argument(
        "--parameters",
        type=Path,
        metavar="FILE",
        help="a YAML file with its parameters (default: algorithms/METHOD.yaml)",
    )
    options.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    return options


def _compared(plan: Paper, cores: int) -> int:
    """Make the runs of a comparison that are missing, draw, judge, and print what came of it; 1
    if a program failed, which says why.
    """
    config = ["--config", f"scale={SCALE}", f"papers={plan.name}"]
    how = ["--logger", "noregret", "--quiet", "host", "--cores", str(cores)]
    failed = _program("snakemake", *how, *config, "--", *plan.records(plan.every_curve))
    figure, folder = plan.entry["figures"][0]["id"], Path("figures", SCALE, plan.name)
    # published records of other code are shown, labelled; what was not run is told
    how = ["--scale", SCALE, "--partial"]
    if _program("workflow.report", plan.name, "verdicts", figure, *how):
        return 1
    print("\n".join(sheet(json.loads((folder / "verdicts.json").read_text(encoding="utf-8")))))
    print(f"{folder}/: {figure}.png, verdicts.md; papers/{plan.name}.yaml says what is compared")
    return int(failed > 0)


def _program(*arguments: str) -> int:
    """Run `python -m ...` here; its exit status."""
    # where the shell commands of the rules find `python`
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = subprocess.Popen([sys.executable, "-m", *arguments], env={**os.environ, "PATH": path})
    try:
        return program.wait()
    except KeyboardInterrupt:  # which Snakemake got, too: it ends its jobs and unlocks the folder
        program.wait()
        raise


def sheet(verdicts: Line) -> list[str]:
    """What a terminal is told of the verdicts.json of a comparison: a line for each panel, and one
    for each of its curves.
    """
    lines: list[str] = []
    for where, group in groupby(verdicts["claims"], key=lambda claim: claim["where"]):
        claims = list(group)
        counts = Counter(claim["verdict"] for claim in claims)
        lines.append(
            f"{where}: ahead of {counts[REPRODUCED]} of {len(claims)} curves, behind"
            f" {counts[CONTRADICTED]} (significantly)"
        )
        for claim in claims:
            (one,) = map(ledger.comparison, claim["comparisons"])
            effect = one.missing or render.effect(one)
            lines.append(f"  {claim['says']}: {claim['verdict']}, {effect}")
    return lines + list(verdicts["mixed"])


def write(method: str, wish: str, file: Path | None = None, root: Path = Path()) -> str:
    """Write the comparison of a method with the figure `PAPER/FIGURE`; returns its name.

    The parameters are those of a file, by default algorithms/<method>.yaml. Raises PlanError, and
    leaves no comparison that the plan refuses.
    """
    paper, _, figure = wish.partition("/")
    if not paper or not figure:
        raise PlanError(f"FIGURE: expected PAPER/FIGURE such as go_ucb/fig2, got {wish!r}")
    if paper not in (known := papers(root)):
        raise PlanError(f"FIGURE: unknown paper {paper!r}{or_nearest(paper, known)}")
    label = method.removeprefix("algorithms/").removesuffix(".py")
    target = _target(label, root)
    parameters = file or root / "algorithms" / f"{target.partition('.')[0]}.yaml"
    values = _parameters(parameters) if file or parameters.exists() else {}
    plan = load(paper, SCALE, root=root)
    line = line_of(plan, "figures", figure, FigureLine)
    entry = _comparison(plan, line, label, {**values, "is": target}, root)
    name = re.sub(r"\W", "_", f"{label}_at_{paper}_{figure}").lower()
    path = root / "papers" / f"{name}.yaml"
    if path.exists() and not path.read_text(encoding="utf-8").startswith(WRITTEN):
        raise PlanError(f"papers/{name}.yaml: expected to write it, got a file of yours: rename it")
    head = f"{WRITTEN} METHOD={method} FIGURE={wish}`, and anew each time: copy it to change it."
    # through JSON, since YAML would name what several panels share
    text = yaml.safe_dump(
        json.loads(json.dumps(entry)), sort_keys=False, width=100, default_flow_style=None
    )
    path.write_text(f"{head}\n{text}", encoding="utf-8")
    try:
        load(name, SCALE, root=root)
    except (PlanError, LookupError, SyntaxError) as error:
        path.unlink()
        # a mistake of the method is told where its parameters stand
        place = rf"papers/{name}\.yaml, line \d+, algorithm {re.escape(label)}"
        raise PlanError(re.sub(place, str(parameters), str(error))) from None
    return name


def _target(method: str, root: Path) -> str:
    """The `module.Class` that a user means by my_method or my_method.MyMethod. Raises PlanError."""
    module, _, wanted = method.partition(".")
    files = (root / "algorithms").glob("[!_]*.py")
    known = sorted(path.stem for path in files if path.stem != "api")
    if module not in known:
        hint = " (copy it under a name of yours)" if module == "_template" else ""
        raise PlanError(
            f"METHOD: expected a file of algorithms/, got {method!r}{hint}"
            f"{or_nearest(module, known)}"
        )
    file = f"algorithms/{module}.py"
    try:
        tree = ast.parse((root / file).read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:  # no UTF-8, or a null byte
        raise PlanError(f"{file} is no valid Python: {error}") from None
    classes: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            classes += [node.name] * bool(bases & {"Optimizer", *classes})
    if wanted not in classes and (wanted or len(classes) != 1):
        raise PlanError(
            f"{file}: expected one class that inherits from algorithms.api.Optimizer, or"
            f" METHOD={module}.CLASS, got {method!r}; classes: {', '.join(classes) or 'none'}"
        )
    return f"{module}.{wanted or classes[0]}"


def _parameters(path: Path) -> dict[str, Any]:
    """The values that a file gives to the parameters of a method. Raises PlanError."""
    try:
        values, _ = reader.load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} is no valid YAML: {error}") from None
    except OSError as error:
        raise PlanError(f"PARAMETERS: expected a file, got {path}: {error.strerror}") from None
    if not isinstance(values, dict | None):
        raise PlanError(f"{path}: expected lines such as `step: 0.2`, got {values!r}")
    return values or {}


def _comparison(plan: Paper, figure: FigureLine, label: str, method: Line, root: Path) -> Line:
    """What the YAML of a comparison says. Raises PlanError."""
    wish = f"{plan.name}/{figure.id}"
    panels = _panels(plan, figure, method["is"], root)
    curves = [curve for _, curves in panels for curve in curves]
    budgets = dict[str, int]()  # the method runs as long as the longest curve
    for curve in curves:
        budgets[curve.problem] = max(curve.budget, budgets.get(curve.problem, 0))
    bases = [panel.relative_to for panel, _ in panels if panel.relative_to]
    labels = list(dict.fromkeys([*(curve.label for curve in curves), *bases]))
    return {
        "paper": {"key": label, "title": f"{label} beside {wish}"},
        "scales": {SCALE: {}},
        "seeds": SEEDS,
        "borrows": {plan.name: {"problems": list(budgets), "curves": labels}},
        "algorithms": {label: method},
        "runs": [{"problems": [name], "budget": budget} for name, budget in budgets.items()],
        "figures": [
            {
                "id": figure.id,
                "kind": figure.kind,
                "title": f"{figure.title or figure.id}; {label} beside it",
                "note": f"{label} is not in the paper",
                "panels": [_panel(panel, curves, label) for panel, curves in panels],
            }
        ],
        "claims": [
            {
                "id": f"{number}-{place}",
                "where": f"{wish}, {panel.title or panel.problem}",
                "figure": figure.id,
                **claim,
            }
            for number, (panel, curves) in enumerate(panels, 1)
            for place, claim in enumerate(_claims(panel, curves, label, budgets), 1)
        ],
    }


def _panels(plan: Paper, figure: FigureLine, target: str, root: Path) -> list[Panel]:
    """The panels in which a method can be compared; what is left out is told. Raises PlanError
    where that is all of them.
    """
    fitting, left = list[Panel](), list[str]()
    for panel in panel_options(plan, figure.id):
        runs = [] if panel.study else [curve for _, curve in curves_of_panel(plan, panel)]
        curves = list({curve.name: curve for curve in runs}.values())
        if reason := _unfit(panel, curves, target, root):
            left.append(reason)
        else:
            fitting.append((panel, curves))
    if not fitting:
        raise PlanError(
            f"{plan.name}/{figure.id}: expected a figure in which {target} can be compared, got"
            f" {'; '.join(dict.fromkeys(left))}"
        )
    for reason in dict.fromkeys(left):
        print(f"not compared: {reason}", flush=True)
    return fitting


def _unfit(panel: FigureLine, curves: list[Curve], target: str, root: Path) -> str:
    """Why a method cannot be compared in a panel; "" where it can."""
    metric = panel.metric
    if not curves:
        return "columns of a study, which are no runs"
    if metric in NEITHER or metric.startswith("report."):
        return f"{metric}, which says of no method how good it is"
    if read := [curve.problem_name for curve in curves if curve.problem_reading]:
        return f"{read[0]}, a problem under a reading"
    own = digest.domains_of(target, root=root)  # none where running the code alone tells
    theirs = digest.domains_of_problems(curves[0].problem_entry["is"], root=root)
    is_unfit = own and theirs and theirs <= digest.DOMAINS and own.isdisjoint(theirs)
    return f"{panel.problem}, on {min(theirs)}, not on {min(own)}" if is_unfit else ""


def _panel(panel: FigureLine, curves: list[Curve], label: str) -> dict[str, Any]:
    """A panel of the comparison: that of the paper, with the method as its last curve."""
    kept = panel.model_dump(by_alias=True, exclude_defaults=True, exclude=REPLACED)
    levels = panel.lines.items()
    numbers = {name: level for name, level in levels if not isinstance(level, Level)}
    return {**kept, "lines": numbers, "curves": [*(curve.label for curve in curves), label]}


def _claims(
    panel: FigureLine, curves: list[Curve], label: str, budgets: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """That the method is better than each curve of a panel, where the shorter of the two ends or
    the panel does.
    """
    metric, problem = panel.metric, panel.problem
    word, test = ("higher", "more") if metric in HIGHER else ("lower", "less")
    for curve in curves:
        check: dict[str, Any] = {"test": test, "metric": metric, "problems": [problem]}
        check |= {"left": [label], "right": [curve.label]}
        if panel.relative_to:
            check["relative_to"] = panel.relative_to
        if (at := min(curve.budget, panel.to or curve.budget)) < budgets[problem]:
            check["at"] = at
        yield {"says": f"{label} is {word} than {curve.label}", "check": check}
