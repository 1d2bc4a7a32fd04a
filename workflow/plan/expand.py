"""From a paper's YAML to the cells and studies that have to be run; every configuration error is
raised here.

The plan reads constructor signatures from syntax trees, so that planning thousands of runs imports
no numerical library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from workflow.plan import (
    costs,
    exhibits,
    names,
    parameters,
    published_numbers,
    reader,
    resolve,
)
from workflow.plan.nearest import or_nearest
from workflow.plan.paper import Paper, Place, Reach
from workflow.plan.reader import Document
from workflow.plan.resolve import papers
from workflow.trace.cells import (
    DEFAULT,
    Cell,
    PlanError,
    Study,
    curve_name,
    parse_seeds,
    problem_name,
    seed_range,
)

ROOT = resolve.ROOT


def chosen_papers(names: str, root: Path = ROOT) -> list[str]:
    """The papers in "bbkb,bkb", or all of them; comparisons only by name. Raises PlanError."""
    known = resolve.planned(root)
    chosen = [name.strip() for name in names.split(",") if name.strip()] or papers(root)
    if unknown := sorted(set(chosen) - set(known)):
        raise PlanError(f"unknown paper {unknown[0]!r}{or_nearest(unknown[0], known)}")
    return chosen


def lenders(papers: Iterable[str], root: Path = ROOT) -> list[str]:
    """The papers of which some papers and comparisons read runs, and which are not among them."""
    chosen = list(papers)
    borrowers = set(chosen) & set(resolve.comparisons(root))
    lent = [name for one in borrowers for name in reader.read(one, root)["borrows"]]
    return sorted(set(lent) - set(chosen))


def papers_of_job(arguments: Iterable[str], papers: Sequence[str]) -> list[str]:
    """Which of some papers the jobs are of that Snakemake is told to make on a node
    (`--target-jobs`); all, if it says none.
    """
    named = re.findall(r"[:,]paper=([a-z0-9_]+)", " ".join(arguments))
    return [name for name in papers if name in named] or list(papers)


def priorities(papers: Iterable[Paper]) -> dict[str, int]:
    """Which paper's jobs begin first, by its name, the higher the sooner: that which costs least,
    so that something is decided soon.
    """
    price = {paper.name: sum(map(costs.seconds, paper.parts)) for paper in papers}
    dearest_first = sorted(price, key=lambda name: (-price[name], name))
    return {name: 10 * (rank + 1) for rank, name in enumerate(dearest_first)}


def load(name: str, scale: str, *, seeds: str = "", root: Path = ROOT) -> Paper:
    """Read, check and expand one paper. `seeds` ("0-4" or "3") cuts the seeds by hand.

    Raises PlanError.
    """
    return expanded(reader.document(name, root), scale, seeds=seeds, root=root)


def expanded(document: Document, scale: str, *, seeds: str = "", root: Path = ROOT) -> Paper:
    """Check and expand what a paper's YAML says; `load` has the arguments.

    Raises PlanError.
    """
    name = document.name
    if scale not in document.entry["scales"]:
        scales = list(document.entry["scales"])
        raise PlanError(f"papers/{name}.yaml: unknown scale {scale!r}{or_nearest(scale, scales)}")
    names.check(document, root)
    _check_published(document, root)
    wanted = parse_seeds(seeds) if seeds else None
    entry = exhibits.at_scale(document.entry, scale)
    reached = _reached(name, entry, root)
    cells: dict[tuple[str, ...], Cell] = {}
    known: dict[Place, tuple[str, ...]] = {}
    uncut: dict[str, tuple[int, ...]] = {}
    for line in entry["runs"]:
        if scale not in line.get("scales", [scale]):
            continue
        for cell in _select(document, scale, entry, line, reached, root):
            # A variant that equals the default is the same computation: it is run once and known by
            # both names.
            key = (cell.problem, cell.algorithm, cell.digest)
            most = max((cell, cells.get(key, cell)), key=lambda candidate: len(candidate.seeds))
            first = cells.get(key, cell)
            uncut[first.name] = max(uncut.get(first.name, ()), most.seeds, key=len)
            left = _cut(most.seeds, wanted)
            # one that is kept knows its digest
            cells[key] = first if first.seeds == left else replace(first, seeds=left)
            place = cell.problem_name, cell.curve
            if known.setdefault(place, key) != key:
                raise _planned_twice(name, cell, cells[known[place]])
    aliases = {place: cells[key] for place, key in known.items()}
    aliases = {**_unchanged(name, entry, aliases, reached, root), **aliases}
    borrowed, absent = _borrowed(document, scale, wanted, root)
    if both := sorted(set(borrowed) & set(aliases)):
        problem, curve = both[0]
        raise PlanError(
            f"{document.where('borrows')}: expected other curves than those that are run here, got"
            f" {curve} on {problem}: rename one"
        )
    aliases |= borrowed
    studies = {}
    for number, line in enumerate(entry.get("studies", [])):
        study = _study(document, scale, number, root)
        uncut[study.name] = study.seeds
        studies[line["id"]] = replace(study, seeds=_cut(study.seeds, wanted))
    paper = Paper(
        name,
        scale,
        entry,
        tuple(cells.values()),
        aliases,
        studies,
        (_elsewhere(scale, entry, reached) | absent) - set(aliases),
        reached,
        uncut=uncut if wanted else {},
        borrowed=tuple({cell.name: cell for cell in borrowed.values()}.values()),
    )
    _check_wanted(paper, wanted)
    return replace(paper, entry=exhibits.offered(paper))


def _borrowed(
    document: Document, scale: str, wanted: tuple[int, ...] | None, root: Path
) -> tuple[dict[Place, Cell], frozenset[Place]]:
    """The runs of other papers that a comparison reads: those of their own plans, with as many
    seeds as it has itself; and the names of those that only other scales make. Raises PlanError.
    """
    entry, found, absent = document.entry, dict[Place, Cell](), set[Place]()
    most = min(source["seeds"] for source in (entry, entry["scales"][scale]) if "seeds" in source)
    for lender, line in entry.get("borrows", {}).items():
        plan = load(lender, scale, root=root)
        for curve in line["curves"]:
            places = [(problem, curve) for problem in line["problems"]]
            lent = [place for place in places if place in plan.aliases]
            absent.update(plan.elsewhere.intersection(places))
            if not lent and absent.isdisjoint(places):
                known = sorted({name for where, name in plan.aliases if where in line["problems"]})
                raise PlanError(
                    f"{document.where('borrows', lender)}: no run of papers/{lender}.yaml makes the"
                    f" curve {curve!r} on any of the problems at scale"
                    f" {scale}{or_nearest(curve, known)}"
                )
            for place in lent:
                cell = plan.aliases[place]
                found[place] = replace(cell, seeds=_cut(cell.seeds[:most], wanted))
    return found, frozenset(absent)


def _check_wanted(paper: Paper, wanted: tuple[int, ...] | None) -> None:
    """Raises PlanError where no run has any of the seeds that are wanted by hand."""
    if wanted and not any(set(part.seeds) & set(wanted) for part in paper.parts):
        entry = paper.entry
        most = min(
            source["seeds"] for source in (entry, entry["scales"][paper.scale]) if "seeds" in source
        )
        raise PlanError(
            f"papers/{paper.name}.yaml: expected some of the seeds 0-{most - 1} of scale"
            f" {paper.scale}, got {seed_range(wanted)}"
        )


def _planned_twice(name: str, cell: Cell, before: Cell) -> PlanError:
    lengths = sorted({cell.budget, before.budget})
    return PlanError(
        f"papers/{name}.yaml, runs: expected one run {cell.problem_name}/{cell.curve} at scale"
        f" {cell.scale}, got two, of {' and '.join(map(str, lengths))} evaluations; give their"
        " lines the same `budget`"
    )


def _select(
    document: Document,
    scale: str,
    entry: Mapping,
    line: Mapping,
    reached: frozenset[Reach],
    root: Path,
) -> Iterable[Cell]:
    """All cells of one `runs:` line: without `algorithms` those alone that its readings change."""
    for problem, algorithm, reading, variant in _combinations(scale, entry, line, reached):
        if reading and "algorithms" not in line:
            usual = _cell(document, scale, entry, line, problem, algorithm, DEFAULT, variant, root)
            if _is_unchanged(document.name, entry, usual, reading, root):
                continue
        yield _cell(document, scale, entry, line, problem, algorithm, reading, variant, root)


def _combinations(
    scale: str, entry: Mapping, line: Mapping, reached: frozenset[Reach]
) -> Iterable[tuple[str, str, str, str]]:
    """(problem, algorithm, reading, variant) of each cell of one `runs:` line at a scale. A line
    that names no algorithms means, under a reading, those whose runs it can change.
    """
    cut = entry["scales"][scale]
    problems = line.get("problems", entry["problems"])
    algorithms = line.get("algorithms", entry["algorithms"])
    readings = line.get("readings", [DEFAULT])
    variants = line.get("variants", [DEFAULT])
    variants = list(entry.get("variants", {})) if variants == "all" else variants
    variants = [
        v for v in variants if v == DEFAULT or "variants" not in cut or v in cut["variants"]
    ]
    return (
        (problem, algorithm, reading, variant)
        for problem, algorithm, reading, variant in product(
            problems, algorithms, readings, variants
        )
        if not reading
        or "algorithms" in line
        or reached & {(reading, "problems", problem), (reading, "algorithms", algorithm)}
    )


def _elsewhere(scale: str, entry: Mapping, reached: frozenset[Reach]) -> frozenset[Place]:
    """The names of all cells of the other scales, of which nothing is resolved."""
    lines = [
        (other, line)
        for other in entry["scales"]
        for line in entry["runs"]
        if other in line.get("scales", [other])
    ]
    return frozenset(
        _place(reached, *combination)
        for other, line in lines
        if other != scale
        for combination in _combinations(other, entry, line, reached)
    )


def _place(
    reached: frozenset[Reach], problem: str, algorithm: str, reading: str, variant: str
) -> Place:
    """What a cell is called: a reading names only that whose parameters it sets."""
    on, by = (
        reading if (reading, kind, key) in reached else DEFAULT
        for kind, key in (("problems", problem), ("algorithms", algorithm))
    )
    return problem_name(problem, on), curve_name(algorithm, by, variant)


def _reached(name: str, entry: Mapping, root: Path) -> frozenset[Reach]:
    """Each reading with the problems and the algorithms of which it sets a parameter."""
    return frozenset(
        (reading, kind, key)
        for reading in entry.get("readings", {})
        for kind in ("problems", "algorithms")
        for key in entry[kind]
        if _overrides(name, entry, reading, kind, key, root)
    )


def _check_published(document: Document, root: Path) -> None:
    """Published numbers are of panels that the CSV has, and of algorithms that the paper has."""
    for name, experiment in document.entry.get("published", {}).items():
        for panel in experiment["panels"]:
            methods = published_numbers.panel(document.name, panel["panel"], root)
            if unknown := sorted(set(methods) - set(document.entry["algorithms"])):
                raise PlanError(
                    f"{document.where('published', name)}: panel {panel['panel']}: expected numbers"
                    f" of algorithms of this paper, got {', '.join(unknown)}: correct"
                    f" {published_numbers.FOLDER / f'{document.name}.csv'}"
                )


def _overrides(
    name: str, entry: Mapping, reading: str, kind: str, key: str, root: Path
) -> dict[str, Any]:
    """What a reading sets for a problem or an algorithm, by flat names."""
    changes = entry["readings"][reading].get(kind, {})
    if "*" not in changes and key not in changes:
        return {}
    known = _parameters(entry[kind][key]["is"], kind, f"papers/{name}.yaml, {key}", root)
    return resolve.overrides(changes, key, known, entry["problems"])


def _unchanged(
    name: str,
    entry: Mapping,
    aliases: Mapping[Place, Cell],
    reached: frozenset[Reach],
    root: Path,
) -> dict[Place, Cell]:
    """The names under a reading of default runs that it leaves as they are, though it sets some of
    their parameters: to the values that they have.
    """
    found: dict[Place, Cell] = {}
    for (problem, curve), cell in aliases.items():
        algorithm, _, variant = curve.partition("+")
        if "@" in problem + curve:
            continue
        usual = replace(cell, variant=variant)
        for reading in entry.get("readings", {}):
            place = _place(reached, problem, algorithm, reading, variant)
            if place != (problem, curve) and _is_unchanged(name, entry, usual, reading, root):
                found[place] = cell
    return found


def _is_unchanged(name: str, entry: Mapping, usual: Cell, reading: str, root: Path) -> bool:
    """Whether every parameter that a reading sets for a default run has that value in it, be it
    its own or that of its variant.
    """
    pairs = (
        ("problems", usual.problem, usual.problem_entry),
        ("algorithms", usual.algorithm, usual.algorithm_entry),
    )
    published = entry["problems"][usual.problem]["budget"]
    for kind, key, parts in pairs:
        wanted = _overrides(name, entry, reading, kind, key, root)
        has = parameters.flat(parts, wanted)
        swept = parameters.dotted(entry.get("variants", {}).get(usual.variant, {}))
        for parameter, value in wanted.items():
            if kind == "algorithms" and parameter not in swept:
                by_problem = isinstance(value, Mapping) and set(value) & set(entry["problems"])
                if by_problem and usual.problem not in value:
                    return False  # whoever runs it there is told that a value is missing
                value = resolve.value_for(value, usual.problem, entry["problems"], published, key)
            if parameter not in has or (has[parameter] != value and parameter not in swept):
                return False
    return True


@cache
def _parameters(target: str, package: str, where: str, root: Path) -> set[str]:
    """The names of a constructor's parameters, read once."""
    return parameters.names(resolve.accepted(target, package, where, root))[1]


def _cell(
    document: Document,
    scale: str,
    entry: Mapping,
    line: Mapping,
    problem: str,
    algorithm: str,
    reading: str,
    variant: str,
    root: Path,
) -> Cell:
    """Resolve every parameter of one cell and check it against the constructors."""
    cut = _cuts(document, scale, problem)
    where = f"{document.where('algorithms', algorithm)} on {problem}"
    published = entry["problems"][problem]["budget"]

    problem_entry, problem_changed = problem_values(document, problem, reading, root=root)
    algorithm_entry, changed = algorithm_values(
        document,
        problem,
        algorithm,
        reading,
        variant,
        root=root,
        given=problem_entry.get("given", {}),
    )
    accepted = resolve.accepted(algorithm_entry["is"], "algorithms", where, root)
    resolve.check(algorithm_entry, accepted, set(), where)
    resolve.check_execution(algorithm_entry, problem_entry, where)

    budgets = [
        published,
        *_after_design(cut, problem_entry["init"]),
        *(source["budget"] for source in (cut, line, algorithm_entry) if "budget" in source),
    ]
    seeds = [
        entry["seeds"],
        *(
            source["seeds"]
            for source in (entry["scales"][scale], line, algorithm_entry)
            if "seeds" in source
        ),
    ]
    budget = min(budgets)
    parts = parameters.nested(
        {key: value for key, value in algorithm_entry.items() if key not in ("seeds", "budget")}
    )
    return Cell(
        paper=document.name,
        scale=scale,
        problem=problem,
        algorithm=algorithm,
        seeds=tuple(range(min(seeds))),
        budget=budget,
        problem_entry=problem_entry,
        algorithm_entry=parts,
        problem_reading=reading if problem_changed else DEFAULT,
        algorithm_reading=reading if changed else DEFAULT,
        variant=variant,
        digest=resolve.cell_digest(problem_entry, parts, budget),
    )


def shortened(part: Cell | Study, evaluations: int) -> Cell:
    """A cell with a smaller budget. Raises PlanError for a study."""
    if isinstance(part, Study):
        raise PlanError(f"{part.name}: expected a curve, got a study, which has no evaluations")
    budget = min(part.budget, evaluations)
    digest = resolve.cell_digest(part.problem_entry, part.algorithm_entry, budget)
    return replace(part, budget=budget, digest=digest)


def _cuts(document: Document, scale: str, problem: str) -> Mapping[str, Any]:
    """What a scale cuts of the runs on a problem: a borrowed one is cut as in its own paper."""
    lender = [
        name
        for name, line in document.entry.get("borrows", {}).items()
        if problem in line["problems"]
    ]
    entry = document.lenders[lender[0]] if lender else document.entry
    cut: Mapping[str, Any] = entry["scales"][scale]
    return cut


def problem_values(
    document: Document, problem: str, reading: str = DEFAULT, *, root: Path = ROOT
) -> tuple[dict[str, Any], bool]:
    """A problem's entry under a reading, checked, and whether the reading sets anything in it."""
    entry = document.entry
    where, base = document.where("problems", problem), entry["problems"][problem]
    changes = entry.get("readings", {}).get(reading, {}).get("problems", {})
    accepted = resolve.accepted(base["is"], "problems", where, root)
    known = parameters.names(accepted)[1]
    of_reading = resolve.overrides(changes, problem, known, entry["problems"])
    flat = {**parameters.flat(base, known), **of_reading}
    resolve.check(flat, accepted, {"data"}, where)
    values = parameters.nested(flat)
    resolve.check_given(values, where, root)
    return values, bool(of_reading)


def algorithm_values(
    document: Document,
    problem: str,
    algorithm: str,
    reading: str = DEFAULT,
    variant: str = DEFAULT,
    *,
    given: Mapping[str, str],
    horizon: int | None = None,
    root: Path = ROOT,
) -> tuple[dict[str, Any], bool]:
    """An algorithm's entry by flat names, as it is on a problem under a reading and a variant, and
    whether the reading sets anything in it.

    T is the problem's published number of evaluations, or `horizon`. What the problem gives is
    still named: `{given: ...}`. Raises PlanError where there is no value for the problem.
    """
    entry = document.entry
    where = f"{document.where('algorithms', algorithm)} on {problem}"
    own = entry["algorithms"][algorithm]
    known = _parameters(own["is"], "algorithms", where, root)
    changes = entry.get("readings", {}).get(reading, {}).get("algorithms", {})
    of_reading = resolve.overrides(changes, algorithm, known, entry["problems"])
    of_variant = resolve.overrides(
        {"*": entry.get("variants", {}).get(variant, {})}, "", known, entry["problems"]
    )
    raw = {**parameters.flat(own, known), **of_reading, **of_variant}
    raw = resolve.with_given(raw, given, problem, entry["problems"], known)
    T = entry["problems"][problem]["budget"] if horizon is None else horizon
    values = {
        key: resolve.value_for(value, problem, entry["problems"], T, where)
        for key, value in raw.items()
    }
    return values, bool(of_reading)


def _after_design(cut: Mapping, init: Mapping) -> list[int]:
    """The budget of a scale that cuts what follows the initial design, which grows with d on some
    problems.
    """
    return (
        [cut["after_init"] + init["n"] * init.get("counted", True)] if "after_init" in cut else []
    )


def _cut(seeds: tuple[int, ...], wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """The planned seeds that are wanted by hand; at least the first, so that no curve is lost."""
    return tuple(seed for seed in seeds if wanted is None or seed in wanted) or seeds[:1]


def _study(document: Document, scale: str, number: int, root: Path) -> Study:
    """Resolve one `studies:` line; a scale's budget cuts its number of evaluations T."""
    name, entry = document.name, document.entry
    line, cut = entry["studies"][number], entry["scales"][scale]
    where = document.where("studies", number)
    accepted = resolve.accepted(line["is"], "workflow/studies", where, root)
    known = parameters.names(accepted)[1]
    chosen = {
        **parameters.flat(line.get("parameters", {}), known),
        **parameters.flat(line.get("cuts", {}).get(scale, {}), known),
    }
    resolve.check({"is": line["is"], **chosen}, accepted, set(), where)
    if "T" in chosen and "budget" in cut:
        chosen["T"] = min(chosen["T"], cut["budget"])
    seeds = min(source["seeds"] for source in (entry, line, cut) if "seeds" in source)
    first = line.get("first_seed", 0)
    problem, found = entry["problems"][line["problem"]], parameters.nested(chosen)
    return Study(
        paper=name,
        scale=scale,
        id=line["id"],
        seeds=tuple(range(first, first + seeds)),
        problem=line["problem"],
        function=line["is"],
        problem_entry=problem,
        parameters=found,
        is_cut=scale != "paper",
        digest=resolve.study_digest(line["is"], problem, found),
    )
