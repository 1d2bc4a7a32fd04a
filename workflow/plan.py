"""From a paper's YAML to the list of cells that have to be run; every configuration error is raised here.

A cell is one algorithm on one problem under one reading and one variant, with all its seeds. The plan reads
constructor signatures from syntax trees, so that planning thousands of runs imports no numerical library.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from workflow import digest as code

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ""  # the reading and the variant of a cell that has none
RUNNER = ("workflow.loop", "workflow.seeds")
RESERVED = {"is", "data", "budget", "seeds", "room", "init"}  # keys of a YAML entry that are no constructor parameter
CURVE = re.compile(r"(?P<algorithm>[^@+]+)(@(?P<reading>[^@+]+))?(\+(?P<variant>[^@+]+))?$")


class PlanError(ValueError):
    """A mistake in papers/*.yaml or on the command line: the message says where, expected, and got."""


@dataclass(frozen=True)
class Cell:
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
        return self.problem + (f"@{self.problem_reading}" if self.problem_reading else "")

    @property
    def curve(self) -> str:
        """`algorithm[@reading][+variant]`: how figures and claims name this cell on its problem."""
        reading = f"@{self.algorithm_reading}" if self.algorithm_reading else ""
        return self.algorithm + reading + (f"+{self.variant}" if self.variant else "")

    @property
    def folder(self) -> Path:
        return Path("results", self.scale, self.paper, self.problem_name, self.curve)

    @property
    def initial_folder(self) -> Path:
        return self.folder.parent / "initial"

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.problem_name}/{self.curve}"

    def record(self, seed: int) -> Path:
        return self.folder / f"{seed}.parquet"

    @property
    def problem_parameters(self) -> dict[str, Any]:
        return {key: value for key, value in self.problem_entry.items() if key not in RESERVED}

    @property
    def algorithm_parameters(self) -> dict[str, Any]:
        return {key: value for key, value in self.algorithm_entry.items() if key not in RESERVED}

    @cached_property
    def digest(self) -> str:
        """Of the code that this run reaches and its resolved parameters; a record with another digest is stale."""
        modules = [*RUNNER, *(f"{package}.{entry['is'].split('.')[0]}" for package, entry in
                              (("problems", self.problem_entry), ("algorithms", self.algorithm_entry)))]  # fmt: skip
        return code.digest(
            modules, {"problem": dict(self.problem_entry), "algorithm": dict(self.algorithm_entry), "budget": self.budget}
        )

    @cached_property
    def initial_digest(self) -> str:
        """Of the problem and its initial design alone, which all algorithms share."""
        modules = [*RUNNER, f"problems.{self.problem_entry['is'].split('.')[0]}"]
        return code.digest(modules, {"problem": dict(self.problem_entry)})


@dataclass(frozen=True)
class Paper:
    """One paper's YAML at one scale: its cells and what is drawn and claimed from them."""

    name: str
    scale: str
    entry: Mapping[str, Any] = field(hash=False)
    cells: tuple[Cell, ...]
    aliases: Mapping[tuple[str, str], Cell] = field(hash=False)

    def cell(self, problem: str, curve: str) -> Cell:
        """The cell behind `algorithm[@reading][+variant]` on a problem. Raises PlanError naming what is known."""
        try:
            return self.aliases[problem, curve]
        except KeyError:
            known = sorted(other for where, other in self.aliases if where == problem)
            raise PlanError(
                f"papers/{self.name}.yaml: no run makes the curve {curve!r} on {problem!r} at scale {self.scale}; "
                f"known there: {', '.join(known) or 'nothing'}"
            ) from None


def papers(root: Path = ROOT) -> list[str]:
    """The names of all papers that have a YAML."""
    return sorted(path.stem for path in (root / "papers").glob("*.yaml") if path.stem != "costs")


def load(name: str, scale: str, *, seeds: str = "", root: Path = ROOT) -> Paper:
    """Read, check and expand one paper. `seeds` ("0-4" or "3") cuts the seeds by hand. Raises PlanError."""
    entry = read(name, root)
    if scale not in entry["scales"]:
        raise PlanError(f"papers/{name}.yaml: unknown scale {scale!r}; known: {', '.join(entry['scales'])}")
    wanted = parse_seeds(seeds) if seeds else None
    cells: dict[tuple[str, ...], Cell] = {}
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    for selection in entry["runs"]:
        for cell in _select(name, scale, entry, selection, root):
            # A variant that equals the default is the same computation: it is run once and known by both names.
            key = (cell.problem, cell.algorithm, cell.digest)
            most = max((cell, cells.get(key, cell)), key=lambda candidate: len(candidate.seeds))
            cells[key] = _with_seeds(cells.get(key, cell), wanted or most.seeds)
            names[cell.problem_name, cell.curve] = key
    aliases = {place: cells[key] for place, key in names.items()}
    return Paper(name, scale, entry, tuple(cells.values()), aliases)


def read(name: str, root: Path = ROOT) -> dict[str, Any]:
    """One paper's YAML, checked against workflow/schema.json. Raises PlanError."""
    path = root / "papers" / f"{name}.yaml"
    if not path.exists():
        raise PlanError(f"unknown paper {name!r}; known: {', '.join(papers(root))}")
    try:
        entry = yaml.load(path.read_text(), Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise PlanError(f"papers/{name}.yaml is no valid YAML: {error}") from None
    schema = json.loads((ROOT / "workflow" / "schema.json").read_text())
    mistakes = sorted(jsonschema.Draft202012Validator(schema).iter_errors(entry), key=lambda mistake: mistake.json_path)
    if mistakes:
        lines = [f"  at {mistake.json_path}: {mistake.message}" for mistake in mistakes[:10]]
        raise PlanError("\n".join([f"papers/{name}.yaml does not follow workflow/schema.json:", *lines]))
    return entry


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from "3" or "0-9". Raises PlanError."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", str(text))
    if match is None:
        raise PlanError(f"seeds: expected a number or a range such as 0-9, got {text!r}")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise PlanError(f"seeds: expected a rising range, got {text!r}")
    return tuple(range(first, last + 1))


def seed_range(seeds: Iterable[int]) -> str:
    """The inverse of parse_seeds for consecutive seeds."""
    ordered = sorted(seeds)
    return f"{ordered[0]}-{ordered[-1]}" if len(ordered) > 1 else str(ordered[0])


def _select(name: str, scale: str, entry: Mapping, selection: Mapping, root: Path) -> Iterable[Cell]:
    """All cells of one `runs:` line."""
    cut = entry["scales"][scale]
    problems = _chosen("problem", selection.get("problems", list(entry["problems"])), entry["problems"], name)
    algorithms = _chosen("algorithm", selection.get("algorithms", list(entry["algorithms"])), entry["algorithms"], name)
    readings = _chosen("reading", selection.get("readings", []), entry.get("readings", {}), name) or [DEFAULT]
    variants = selection.get("variants", [DEFAULT])
    variants = list(entry.get("variants", {})) if variants == "all" else variants
    variants = [v for v in variants if v == DEFAULT or "variants" not in cut or v in cut["variants"]]
    _chosen("variant", [v for v in variants if v], entry.get("variants", {}), name)
    for problem in problems:
        for algorithm in algorithms:
            for reading in readings:
                for variant in variants:
                    yield _cell(name, scale, entry, selection, problem, algorithm, reading, variant, root)


def _cell(
    name: str,
    scale: str,
    entry: Mapping,
    selection: Mapping,
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

    known = _parameters(entry["problems"][problem]["is"], "problems", f"papers/{name}.yaml, problem {problem}", root)
    base = entry["problems"][problem]
    overrides = _overrides(changes.get("problems", {}), problem, known[1])
    problem_entry = {**base, **overrides}
    _check(problem_entry, known, {"data"}, f"papers/{name}.yaml, problem {problem}")

    known = _parameters(entry["algorithms"][algorithm]["is"], "algorithms", where, root)
    reading_overrides = _overrides(changes.get("algorithms", {}), algorithm, known[1])
    variant_overrides = {k: v for k, v in entry.get("variants", {}).get(variant, {}).items() if k in known[1]}
    raw = {**entry["algorithms"][algorithm], **reading_overrides, **variant_overrides}
    algorithm_entry = {key: _resolve(value, problem, entry["problems"], published, where) for key, value in raw.items()}
    _check(algorithm_entry, known, set(), where)

    budgets = [published, *(source["budget"] for source in (cut, selection, algorithm_entry) if "budget" in source)]
    seeds = [entry["seeds"], *(source["seeds"] for source in (cut, selection, algorithm_entry) if "seeds" in source)]
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


def _overrides(changes: Mapping[str, Mapping], key: str, known: set[str]) -> dict[str, Any]:
    """What a reading changes for one entry: "*" reaches whoever has the parameter, a name must have it."""
    everyone = {name: value for name, value in changes.get("*", {}).items() if name in known}
    return {**everyone, **changes.get(key, {})}


def _resolve(value: Any, problem: str, problems: Mapping, published: int, where: str) -> Any:
    """One parameter for one problem: a mapping over problems is looked up, T and 1/T become the published horizon."""
    if isinstance(value, dict) and set(value) & set(problems):
        if problem not in value:
            raise PlanError(f"{where}: expected a value for problem {problem!r}, got {value}")
        value = value[problem]
    return {"T": published, "1/T": 1 / published}.get(value, value) if isinstance(value, str) else value


def _parameters(target: str, package: str, where: str, root: Path) -> tuple[set[str], set[str]]:
    try:
        return code.parameters_of(target, package, root=root)
    except LookupError as error:
        raise PlanError(f"{where}: `is: {target}`: {error.args[0]}") from None


def _check(entry: Mapping, known: tuple[set[str], set[str]], supplied: set[str], where: str) -> None:
    """Names of parameters against a constructor; `supplied` are filled in by the runner."""
    required, names = known
    given = set(entry) - RESERVED
    if unknown := given - names:
        raise PlanError(
            f"{where}: unknown parameter {', '.join(sorted(unknown))} of {entry['is']}; known: {', '.join(sorted(names)) or 'none'}"
        )
    if missing := required - given - supplied:
        raise PlanError(f"{where}: missing parameter {', '.join(sorted(missing))} of {entry['is']}")
    if "data" in names and "data" not in entry:
        raise PlanError(f"{where}: {entry['is']} reads a data set: add a line `data: NAME` (data/manifest.yaml lists the names)")


def _chosen(kind: str, names: Iterable[str], known: Mapping, paper: str) -> list[str]:
    for name in names:
        if name not in known:
            raise PlanError(f"papers/{paper}.yaml: unknown {kind} {name!r} in `runs`; known: {', '.join(known)}")
    return list(names)


def _with_seeds(cell: Cell, seeds: Iterable[int]) -> Cell:
    return Cell(**{**{key: getattr(cell, key) for key in cell.__dataclass_fields__}, "seeds": tuple(seeds)})


class _StrictLoader(yaml.SafeLoader):
    """YAML without the silent acceptance of a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        merged = getattr(node, "noregret_checked", False)
        twice = {key for key in keys if keys.count(key) > 1 and key != "<<"}
        if twice and not merged:
            raise yaml.constructor.ConstructorError(None, None, f"key given twice: {', '.join(sorted(twice))}", node.start_mark)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        node.noregret_checked = True  # a merge (<<) may repeat a key: the later one wins on purpose
