"""From a paper's YAML to the list of cells that have to be run; every configuration error is raised here.

A cell is one algorithm on one problem under one reading and one variant, with all its seeds. The plan reads
constructor signatures from syntax trees, so that planning thousands of runs imports no numerical library.
"""

from __future__ import annotations

import argparse
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from workflow import costs, mentions, resolve, selection
from workflow import digest as code
from workflow.costs import Cost
from workflow.resolve import PlanError, papers, parse_seeds, seed_range
from workflow.selection import DEFAULT

__all__ = [
    "Cell",
    "Paper",
    "PlanError",
    "Study",
    "chosen_papers",
    "load",
    "names_of",
    "papers",
    "papers_with",
    "parse_seeds",
    "seed_range",
]

ROOT = resolve.ROOT
RUNNER = ("workflow.loop", "workflow.seeds", "workflow.designs")
SHOWN = ("figures", "ranks", "tables", "pictures")  # what a scale may leave out
UNLIMITED = 1 << 30  # of parallel evaluations
Place = tuple[str, str]  # `problem[@reading]` and `algorithm[@reading][+variant]`


class Seeded(ABC):
    """What has one record for each of its seeds: where they lie, and what a job that makes some of them asks for."""

    seeds: tuple[int, ...]

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where the records lie."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the plan's cell or study."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Of the code that it reaches and its resolved parameters."""

    def record(self, seed: int) -> Path:
        return self.folder / f"{seed}.parquet"

    @property
    def seconds(self) -> float:
        """All seeds."""
        return len(self.seeds) * self.cost.seconds


@dataclass(frozen=True)
class Job:
    """What one process makes: some seeds of a study or of a cell, or short runs of several studies or of cells on one problem."""

    parts: tuple[Seeded, ...]
    seeds: tuple[int, ...]

    @property
    def marker(self) -> str:
        """The list of finished records that Snakemake tracks."""
        return str(self.parts[0].folder / f"seeds-{seed_range(self.seeds)}.json")

    @property
    def minutes(self) -> int:
        """A generous time limit, for a cluster."""
        return 10 + round(3 * len(self.seeds) * sum(part.cost.seconds for part in self.parts) / 60)

    @property
    def memory_mb(self) -> int:
        """A generous memory limit, for a cluster."""
        return 500 + round(1.5 * max(part.cost.mib for part in self.parts))

    @cached_property
    def digest(self) -> str:
        """Of all that it makes."""
        return " ".join(part.digest for part in self.parts)


@dataclass(frozen=True)
class Cell(Seeded):
    """One algorithm x problem x reading x variant, all seeds; everything that decides its trace is in here."""

    paper: str
    scale: str
    problem: str
    algorithm: str
    seeds: tuple[int, ...]
    budget: int
    problem_entry: Mapping[str, Any] = field(hash=False)
    algorithm_entry: Mapping[str, Any] = field(hash=False)
    problem_reading: str = DEFAULT
    algorithm_reading: str = DEFAULT
    variant: str = DEFAULT

    @property
    def problem_name(self) -> str:
        """`problem[@reading]`: the folder of everything that shares instance and initial design."""
        return _problem_name(self.problem, self.problem_reading)

    @property
    def curve(self) -> str:
        """`algorithm[@reading][+variant]`: how figures and claims name this cell on its problem."""
        return _curve_name(self.algorithm, self.algorithm_reading, self.variant)

    @property
    def folder(self) -> Path:
        return Path("results", self.scale, self.paper, self.problem_name, self.curve)

    @property
    def initial_folder(self) -> Path:
        return self.folder.parent / "initial"

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.problem_name}/{self.curve}"

    @cached_property
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""
        return costs.estimate(self.paper, self.problem, self.curve, self.algorithm, self.budget / self.problem_entry["budget"])

    @property
    def room(self) -> int:
        """How many evaluations may run at once: the algorithm's own number of workers, else the problem's."""
        room = self.algorithm_entry.get("room", self.problem_entry["room"])
        return UNLIMITED if room == "unlimited" else int(room)

    @property
    def is_async(self) -> bool:
        """Whether free workers are given something to do at once, instead of batch by batch."""
        return bool(self.algorithm_entry.get("execution", self.problem_entry.get("execution")) == "async")

    @cached_property
    def digest(self) -> str:
        """Of the code that this run reaches and its resolved parameters; a record with another digest is stale."""
        engine = ["workflow.async_loop"] if self.is_async else []
        modules = [*self._beginning, *engine, *(f"{package}.{entry['is'].split('.')[0]}" for package, entry in
                              (("problems", self.problem_entry), ("algorithms", self.algorithm_entry)))]  # fmt: skip
        chosen = {"algorithm": dict(self.algorithm_entry), "budget": self.budget}
        return code.digest(modules, {**resolve.problem_identity(self.problem_entry), **chosen})

    @property
    def _beginning(self) -> tuple[str, ...]:
        """The runner's modules that decide the first rows."""
        return RUNNER if self.problem_entry["init"].get("noise", True) else (*RUNNER, "workflow.exact_design")

    @cached_property
    def initial_digest(self) -> str:
        """Of the problem and its initial design alone, which all algorithms share."""
        modules = [*self._beginning, f"problems.{self.problem_entry['is'].split('.')[0]}"]
        return code.digest(modules, resolve.problem_identity(self.problem_entry))


@dataclass(frozen=True)
class Study(Seeded):
    """A theory check that is no ask/tell run: one function of workflow/studies on one problem, all its seeds."""

    paper: str
    scale: str
    id: str
    seeds: tuple[int, ...]
    problem: str
    function: str
    problem_entry: Mapping[str, Any] = field(hash=False)
    parameters: Mapping[str, Any] = field(hash=False)

    @property
    def name(self) -> str:
        return f"{self.paper}/studies/{self.id}"

    @property
    def folder(self) -> Path:
        return Path("results", self.scale, self.paper, "studies", self.id)

    @cached_property
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""
        return costs.estimate(self.paper, "studies", self.id, self.id, 1.0 if self.scale == "paper" else 0.1)

    @cached_property
    def digest(self) -> str:
        """Of the code that this study reaches and its resolved parameters."""
        modules = [
            *RUNNER,
            f"problems.{self.problem_entry['is'].split('.')[0]}",
            f"workflow.studies.{self.function.split('.')[0]}",
            *(f"algorithms.{target.split('.')[0]}" for target in resolve.targets(self.parameters)),
        ]
        chosen = {"parameters": dict(self.parameters)}
        return code.digest(modules, {**resolve.problem_identity(self.problem_entry), **chosen})


@dataclass(frozen=True)
class Paper:
    """One paper's YAML at one scale: its cells and studies, and what is drawn and claimed from them."""

    name: str
    scale: str
    entry: Mapping[str, Any] = field(hash=False)
    cells: tuple[Cell, ...]
    aliases: Mapping[Place, Cell] = field(hash=False)
    studies: Mapping[str, Study] = field(hash=False)
    elsewhere: frozenset[Place] = frozenset()  # what only other scales run

    def cell(self, problem: str, curve: str) -> Cell:
        """The cell behind `algorithm[@reading][+variant]` on a problem. Raises PlanError naming what is known."""
        try:
            return self.aliases[problem, curve]
        except KeyError:
            known = sorted(other for where, other in self.aliases if where == problem)
            others = ", only at others" if (problem, curve) in self.elsewhere else ""
            raise PlanError(
                f"papers/{self.name}.yaml: no run makes the curve {curve!r} on {problem!r} at scale {self.scale}{others}; "
                f"known there: {', '.join(known) or 'nothing'}"
            ) from None

    @property
    def parts(self) -> list[Cell | Study]:
        """All cells and studies."""
        return [*self.cells, *self.studies.values()]

    @cached_property
    def jobs(self) -> Mapping[str, Job]:
        """Every job by its marker."""
        alone: list[Seeded] = [part for part in self.parts if not _is_short(part)]
        groups: dict[tuple[object, ...], list[Seeded]] = {}
        for part in self.parts:
            if _is_short(part):
                groups.setdefault((part.folder.parent, part.seeds), []).append(part)
        bundles = [bundle for group in groups.values() for bundle in costs.packed(group, [part.seconds for part in group])]
        jobs = [Job(tuple(bundle), bundle[0].seeds) for bundle in bundles]
        jobs += [Job((part,), seeds) for part in alone for seeds in costs.chunks(part.seeds, part.cost.seconds)]
        return {job.marker: job for job in jobs}

    def markers(self, runs: Iterable[Seeded]) -> list[str]:
        """The markers of the jobs that make some runs."""
        wanted = {marker for name in {run.name for run in runs} for marker in self._makers.get(name, [])}
        return [marker for marker in self.jobs if marker in wanted]

    @cached_property
    def _makers(self) -> Mapping[str, list[str]]:
        """The markers of the jobs that make some seeds of a run, by its name."""
        found: dict[str, list[str]] = {}
        for marker, job in self.jobs.items():
            for part in job.parts:
                found.setdefault(part.name, []).append(marker)
        return found

    def forget_lost(self, root: Path = Path()) -> None:
        """Remove the markers of jobs of which a record is not there any more: Snakemake would take them for done."""
        for marker, job in self.jobs.items():
            records = (root / part.record(seed) for part in job.parts for seed in job.seeds)
            if (root / marker).exists() and not all(path.exists() for path in records):
                with suppress(OSError):  # where nobody can write, the report says which record it misses
                    (root / marker).unlink(missing_ok=True)

    def on(self, problem: str) -> list[Cell]:
        """All cells on `problem[@reading]`: they share instance and initial design. Raises PlanError where there is none."""
        if problem not in self._by_problem:
            known = sorted(self._by_problem)
            raise PlanError(f"papers/{self.name}.yaml: unknown problem {problem!r}; known: {', '.join(known)}")
        return self._by_problem[problem]

    @cached_property
    def _by_problem(self) -> Mapping[str, list[Cell]]:
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.problem_name, []).append(cell)
        return found

    def initial_marker(self, problem: str) -> str:
        """The list of the initial designs of all seeds that any cell on this problem needs."""
        return self._initial_markers[problem]

    @cached_property
    def _initial_markers(self) -> Mapping[str, str]:
        return {
            problem: str(cells[0].initial_folder / f"seeds-{seed_range({seed for cell in cells for seed in cell.seeds})}.json")
            for problem, cells in self._by_problem.items()
        }

    def first_cell(self, problem: str) -> Cell:
        """Some cell on `problem[@reading]`. Raises PlanError."""
        return self.on(problem)[0]

    def study(self, name: str) -> Study:
        """The study called `name`. Raises PlanError naming what is known."""
        if name not in self.studies:
            raise PlanError(f"papers/{self.name}.yaml: unknown study {name!r}; known: {', '.join(self.studies) or 'none'}")
        return self.studies[name]


def _problem_name(problem: str, reading: str) -> str:
    return f"{problem}@{reading}" if reading else problem


def _curve_name(algorithm: str, reading: str, variant: str) -> str:
    return algorithm + (f"@{reading}" if reading else "") + (f"+{variant}" if variant else "")


def _is_short(part: Seeded) -> bool:
    """Whether a run is worth no process of its own."""
    return part.seconds < costs.SHORT_SECONDS


def chosen_papers(names: str, root: Path = ROOT) -> list[str]:
    """The papers in "bbkb,bkb", or all of them. Raises PlanError."""
    chosen = [name.strip() for name in names.split(",") if name.strip()] or papers(root)
    if unknown := sorted(set(chosen) - set(papers(root))):
        raise PlanError(f"unknown paper {', '.join(unknown)}; known: {', '.join(papers(root))}")
    return chosen


def papers_of_job(arguments: Iterable[str], papers: Sequence[str]) -> list[str]:
    """Which of some papers the jobs are of that Snakemake is told to make on a node (`--target-jobs`); all, if it says none."""
    named = re.findall(r"[:,]paper=([a-z0-9_]+)", " ".join(arguments))
    return [name for name in papers if name in named] or list(papers)


def names_of(plans: Mapping[str, Paper], section: str, *, moves: bool = False) -> list[str]:
    """The ids in a section of some papers (of pictures: those that move, or do not); if none, one that matches nothing."""
    lines = [line for plan in plans.values() for line in plan.entry.get(section, [])]
    return sorted({line["id"] for line in lines if line.get("moves", False) == moves}) or ["-"]


def papers_with(plans: Mapping[str, Paper], section: str, *, moves: bool = False) -> str:
    """A regular expression of the papers in `PAPER/NAME.` whose section has that name.

    What is a figure of one paper may be a picture of another one: a pattern of papers and one of names would admit both.
    """
    names = {paper: names_of({paper: plan}, section, moves=moves) for paper, plan in plans.items()}
    return "|".join(rf"{paper}(?=/(?:{'|'.join(ids)})\.)" for paper, ids in names.items())


def load(name: str, scale: str, *, seeds: str = "", root: Path = ROOT) -> Paper:
    """Read, check and expand one paper. `seeds` ("0-4" or "3") cuts the seeds by hand. Raises PlanError."""
    entry = resolve.read(name, root)
    if scale not in entry["scales"]:
        raise PlanError(f"papers/{name}.yaml: unknown scale {scale!r}; known: {', '.join(entry['scales'])}")
    for line in (line for part in SHOWN for line in entry.get(part, [])):
        resolve.chosen("scale", line.get("scales", []), entry["scales"], name)
    for line in entry.get("tables", []):
        selection.blocks(line)
        resolve.chosen("erratum", line.get("errata", []), {erratum["id"]: erratum for erratum in entry.get("errata", [])}, name)
    shown = {part: [line for line in entry.get(part, []) if scale in line.get("scales", [scale])] for part in SHOWN}
    entry = {**entry, **{part: lines for part, lines in shown.items() if part in entry}}
    mentions.check(name, entry, root)
    wanted = parse_seeds(seeds) if seeds else None
    cells: dict[tuple[str, ...], Cell] = {}
    names: dict[Place, tuple[str, ...]] = {}
    for line in entry["runs"]:
        resolve.chosen("scale", line.get("scales", []), entry["scales"], name)
        if scale not in line.get("scales", [scale]):
            continue
        for cell in _select(name, scale, entry, line, root):
            # A variant that equals the default is the same computation: it is run once and known by both names.
            key = (cell.problem, cell.algorithm, cell.digest)
            most = max((cell, cells.get(key, cell)), key=lambda candidate: len(candidate.seeds))
            first, left = cells.get(key, cell), _cut(most.seeds, wanted)
            cells[key] = first if first.seeds == left else replace(first, seeds=left)  # one that is kept knows its digest
            names[cell.problem_name, cell.curve] = key
    aliases = {place: cells[key] for place, key in names.items()}
    studies = {line["id"]: _study(name, scale, entry, line, wanted, root) for line in entry.get("studies", [])}
    paper = Paper(name, scale, entry, tuple(cells.values()), aliases, studies, _elsewhere(name, scale, entry, root) - set(names))
    if wanted and not any(set(part.seeds) & set(wanted) for part in paper.parts):
        most = min(source["seeds"] for source in (entry, entry["scales"][scale]) if "seeds" in source)
        raise PlanError(f"papers/{name}.yaml: expected some of the seeds 0-{most - 1} of scale {scale}, got {seed_range(wanted)}")
    return replace(paper, entry=selection.offered(paper))


def _select(name: str, scale: str, entry: Mapping, line: Mapping, root: Path) -> Iterable[Cell]:
    """All cells of one `runs:` line."""
    for problem, algorithm, reading, variant in _combinations(name, scale, entry, line):
        yield _cell(name, scale, entry, line, problem, algorithm, reading, variant, root)


def _combinations(name: str, scale: str, entry: Mapping, line: Mapping) -> Iterable[tuple[str, str, str, str]]:
    """(problem, algorithm, reading, variant) of each cell of one `runs:` line at a scale."""
    cut = entry["scales"][scale]
    problems = resolve.chosen("problem", line.get("problems", list(entry["problems"])), entry["problems"], name)
    algorithms = resolve.chosen("algorithm", line.get("algorithms", list(entry["algorithms"])), entry["algorithms"], name)
    readings = resolve.chosen("reading", line.get("readings", []), entry.get("readings", {}), name) or [DEFAULT]
    variants = line.get("variants", [DEFAULT])
    variants = list(entry.get("variants", {})) if variants == "all" else variants
    variants = [v for v in variants if v == DEFAULT or "variants" not in cut or v in cut["variants"]]
    resolve.chosen("variant", [v for v in variants if v], entry.get("variants", {}), name)
    return product(problems, algorithms, readings, variants)


def _elsewhere(name: str, scale: str, entry: Mapping, root: Path) -> frozenset[Place]:
    """The names of all cells of the other scales, of which nothing is resolved."""
    lines = [(other, line) for other in entry["scales"] for line in entry["runs"] if other in line.get("scales", [other])]
    return frozenset(
        _place(name, entry, *combination, root)
        for other, line in lines
        if other != scale
        for combination in _combinations(name, other, entry, line)
    )


def _place(name: str, entry: Mapping, problem: str, algorithm: str, reading: str, variant: str, root: Path) -> Place:
    """What a cell is called: a reading names only what it changes."""
    keys = {"problems": problem, "algorithms": algorithm}
    on, by = (reading if reading and _changes(name, entry, reading, kind, key, root) else DEFAULT for kind, key in keys.items())
    return _problem_name(problem, on), _curve_name(algorithm, by, variant)


def _changes(name: str, entry: Mapping, reading: str, kind: str, key: str, root: Path) -> bool:
    """Whether a reading changes a parameter of a problem or an algorithm."""
    changes = entry["readings"][reading].get(kind, {})
    known = _parameters(entry[kind][key]["is"], kind, f"papers/{name}.yaml, {key}", root) if "*" in changes else set()
    return bool(resolve.overrides(changes, key, known))


@cache
def _parameters(target: str, package: str, where: str, root: Path) -> set[str]:
    """The names of a constructor's parameters, read once."""
    return resolve.parameters(target, package, where, root)[1]


def _cell(
    name: str,
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
    cut = entry["scales"][scale]
    changes = entry.get("readings", {}).get(reading, {})
    where = f"papers/{name}.yaml, {algorithm} on {problem}"
    published = entry["problems"][problem]["budget"]

    known = resolve.parameters(entry["problems"][problem]["is"], "problems", f"papers/{name}.yaml, problem {problem}", root)
    base = entry["problems"][problem]
    overrides = resolve.overrides(changes.get("problems", {}), problem, known[1])
    problem_entry = {**base, **overrides}
    resolve.check(problem_entry, known, {"data"}, f"papers/{name}.yaml, problem {problem}")
    resolve.check_given(problem_entry, f"papers/{name}.yaml, problem {problem}", root)

    known = resolve.parameters(entry["algorithms"][algorithm]["is"], "algorithms", where, root)
    reading_overrides = resolve.overrides(changes.get("algorithms", {}), algorithm, known[1])
    variant_overrides = {k: v for k, v in entry.get("variants", {}).get(variant, {}).items() if k in known[1]}
    raw = {**entry["algorithms"][algorithm], **reading_overrides, **variant_overrides}
    raw = resolve.with_given(raw, problem_entry.get("given", {}), problem, entry["problems"], known[1])
    algorithm_entry = {key: resolve.value_for(value, problem, entry["problems"], published, where) for key, value in raw.items()}
    resolve.check(algorithm_entry, known, set(), where)
    resolve.check_execution(algorithm_entry, problem_entry, where)

    budgets = [
        published,
        *_after_design(cut, problem_entry["init"]),
        *(source["budget"] for source in (cut, line, algorithm_entry) if "budget" in source),
    ]
    seeds = [entry["seeds"], *(source["seeds"] for source in (cut, line, algorithm_entry) if "seeds" in source)]
    return Cell(
        paper=name,
        scale=scale,
        problem=problem,
        algorithm=algorithm,
        seeds=tuple(range(min(seeds))),
        budget=min(budgets),
        problem_entry=problem_entry,
        algorithm_entry={key: value for key, value in algorithm_entry.items() if key not in ("seeds", "budget")},
        problem_reading=reading if overrides else DEFAULT,
        algorithm_reading=reading if reading_overrides else DEFAULT,
        variant=variant,
    )


def _after_design(cut: Mapping, init: Mapping) -> list[int]:
    """The budget of a scale that cuts what follows the initial design, which grows with d on some problems."""
    return [cut["after_init"] + init["n"] * init.get("counted", True)] if "after_init" in cut else []


def _cut(seeds: tuple[int, ...], wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """The planned seeds that are wanted by hand; at least the first, so that no curve is lost."""
    return tuple(seed for seed in seeds if wanted is None or seed in wanted) or seeds[:1]


def _study(name: str, scale: str, entry: Mapping, line: Mapping, wanted: tuple[int, ...] | None, root: Path) -> Study:
    """Resolve one `studies:` line; a scale's budget cuts its number of evaluations T."""
    cut, where = entry["scales"][scale], f"papers/{name}.yaml, study {line['id']}"
    resolve.chosen("problem", [line["problem"]], entry["problems"], name)
    try:
        required, names = code.parameters_of(line["is"], "workflow/studies", root=root)
    except LookupError as error:
        raise PlanError(f"{where}: `is: {line['is']}`: {error.args[0]}") from None
    resolve.chosen("scale", line.get("cuts", {}), entry["scales"], name)
    parameters = {**line.get("parameters", {}), **line.get("cuts", {}).get(scale, {})}
    resolve.check({"is": line["is"], **parameters}, (required, names), set(), where)
    if "T" in parameters and "budget" in cut:
        parameters["T"] = min(parameters["T"], cut["budget"])
    seeds = min(source["seeds"] for source in (entry, line, cut) if "seeds" in source)
    return Study(
        paper=name,
        scale=scale,
        id=line["id"],
        seeds=_cut(tuple(range(seeds)), wanted),
        problem=line["problem"],
        function=line["is"],
        problem_entry=entry["problems"][line["problem"]],
        parameters=parameters,
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the table of runs with their counts and core-hours."""
    parser = argparse.ArgumentParser(prog="python -m workflow.plan", description="What a scale runs and what it costs.")
    parser.add_argument("papers", nargs="*", help="default: all papers")
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--seeds", default="", help="cut the seeds by hand, e.g. 0-4")
    parser.add_argument("--cells", action="store_true", help="one line for each cell instead of each algorithm")
    options = parser.parse_args(arguments)
    try:
        plans = [load(name, options.scale, seeds=options.seeds) for name in chosen_papers(",".join(options.papers))]
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for plan in plans:
        print("\n".join(_table(plan, cells=options.cells)), end="\n\n")
    return 0


def _table(plan: Paper, *, cells: bool) -> list[str]:
    """Lines of text: runs, evaluations and core-hours by problem and algorithm (or cell), and their sum."""
    rows: dict[tuple[str, str], list[Cell | Study]] = {}
    for cell in plan.cells:
        rows.setdefault((cell.problem_name, cell.curve if cells else cell.algorithm), []).append(cell)
    for study in plan.studies.values():
        rows.setdefault(("studies", study.id), []).append(study)
    wide = max(10, *(len(problem) for problem, _ in rows))
    heads = f"{'problem':<{wide}} {'what':<38} {'cells':>5} {'runs':>5} {'core-hours':>11}"
    lines = [f"{plan.name} at scale {plan.scale}", heads]
    for (problem, name), group in rows.items():
        hours = sum(len(part.seeds) * part.cost.seconds for part in group) / 3600
        mark = "measured" if all(part.cost.measured for part in group) else "estimated"
        runs = sum(len(part.seeds) for part in group)
        lines.append(f"{problem:<{wide}} {name:<38} {len(group):>5} {runs:>5} {hours:>11.3f} {mark}")
    everything = [part for group in rows.values() for part in group]
    total = sum(len(part.seeds) * part.cost.seconds for part in everything) / 3600
    lines.append(f"{'sum':<{wide + 39}} {len(everything):>5} {sum(len(part.seeds) for part in everything):>5} {total:>11.3f}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
